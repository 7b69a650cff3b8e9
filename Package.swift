// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    // Objects belong to one thread, and debug builds, with which all tests run, check that no access
    // overlaps another. The same checks were a tenth of a small request's instructions.
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

/// A C module: the library's headers behind a thin shim, without logic.
func door(_ name: String, library: String...) -> Target {
    .target(name: name, linkerSettings: library.map { .linkedLibrary($0) })
}

/// A room of the program, with the rooms that it may use.
func room(
    _ name: String,
    uses: [Target.Dependency],
    excluding folders: [String] = []
) -> Target {
    .target(name: name, dependencies: uses, exclude: folders, swiftSettings: swiftSettings)
}

func tests(
    of name: String,
    uses: [Target.Dependency] = [],
    excluding files: [String] = []
) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.init(stringLiteral: name), "TestSupport"] + uses,
        exclude: files,
        swiftSettings: swiftSettings
    )
}

/// What the tests of several rooms share.
func support(_ name: String, uses: [Target.Dependency]) -> Target {
    .target(
        name: name,
        dependencies: uses,
        path: "Tests/\(name)",
        swiftSettings: swiftSettings
    )
}

func program(_ name: String, path: String, uses: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name,
        dependencies: uses,
        path: path,
        swiftSettings: swiftSettings
    )
}

/// Fuzz entries for parsers of untrusted input, with their invariants. The suite runs their seeds. With SLUICE_FUZZ
/// they become a libFuzzer program, which needs its own build (`Scripts/fuzz`).
func fuzzEntries(uses: [Target.Dependency]) -> Target {
    let (seeds, path) = (["corpus", "dictionaries"], "Tests/Fuzz")
    guard Context.environment["SLUICE_FUZZ"] != nil else {
        return .testTarget(
            name: "FuzzTests",
            dependencies: uses,
            path: path,
            exclude: seeds + ["Fuzzer.swift"],
            swiftSettings: swiftSettings
        )
    }
    return .executableTarget(
        name: "sluice-fuzz",
        dependencies: uses,
        path: path,
        exclude: seeds + ["CorpusTests.swift"],
        // libFuzzer has the main function.
        swiftSettings: swiftSettings + [.unsafeFlags(["-parse-as-library"])]
    )
}

let package = Package(
    name: "sluice",
    products: [.executable(name: "sluice", targets: ["sluice"])],
    targets: [
        // Files that the program serves from memory.
        .target(name: "CFiles"),
        .target(name: "CSystem", cSettings: [.define("_GNU_SOURCE")]),
        door("CSQLite", library: "sqlite3"),
        door("CCurl", library: "curl"),
        door("CLZ4", library: "lz4"),
        door("CZlib", library: "z"),
        door("CZstd", library: "zstd"),
        door("CSnappy", library: "snappy"),
        door("COpenSSL", library: "ssl", "crypto"),
        door("CYAML", library: "yaml"),
        door("CSimdjson", library: "simdjson"),
        door("CRE2", library: "re2"),
        door("CPostgreSQL", library: "pq"),

        room("System", uses: ["CSystem"]),
        room("JSON", uses: ["System"]),
        room("Crypto", uses: ["System", "COpenSSL"]),
        room("SQLite", uses: ["System", "CSQLite"]),
        room("Rendering", uses: ["System", "JSON"]),
        room("HTTPClient", uses: ["System", "Crypto", "CCurl"]),
        room("Net", uses: ["CSystem", "System", "COpenSSL"]),
        room("HTTP", uses: ["System", "JSON", "Net"]),
        room("Logs", uses: ["System", "CLZ4", "CZlib", "CZstd", "CSnappy", "CSimdjson"]),
        room("SLS", uses: ["System", "JSON", "Crypto", "Logs"]),
        room("Routing", uses: ["System", "Crypto", "Logs", "CRE2"]),
        room("Tokens", uses: ["System", "JSON", "Crypto", "COpenSSL"]),
        room("Queue", uses: ["System", "JSON", "Logs"]),
        room("NATS", uses: ["System", "JSON", "Crypto", "Net", "COpenSSL"]),
        room("CommitLog", uses: ["System", "JSON", "Crypto", "Net", "NATS", "CPostgreSQL"]),
        room(
            "SQLiteQueue",
            uses: ["System", "Logs", "SQLite", "CSQLite", "Queue", "CommitLog"]
        ),
        room("Fleet", uses: ["System", "JSON", "Crypto", "Queue", "CommitLog", "SQLiteQueue"]),
        room("Resolvers", uses: ["System", "JSON", "Crypto", "HTTPClient", "Net"]),
        room("Credentials", uses: ["System", "JSON", "Crypto", "HTTPClient", "SLS"]),
        room(
            "Configuration",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "Logs", "SLS", "Queue",
                "Resolvers", "Credentials", "Tokens", "Routing", "NATS", "CommitLog", "CYAML",
            ]
        ),
        room(
            "Delivery",
            uses: [
                "System", "Crypto", "HTTPClient", "Net", "Logs", "SLS", "Resolvers", "Queue",
                "Configuration",
            ]
        ),
        room(
            "Sandbox",
            uses: ["System", "JSON", "Crypto", "SQLite", "Net", "HTTP", "Logs", "SLS"]
        ),
        room(
            "Ingest",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "Logs", "SLS", "Queue",
                "Credentials", "Tokens", "Routing", "Configuration",
            ]
        ),
        room(
            "Operations",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "SLS", "Queue",
                "Resolvers", "Delivery", "Credentials", "Routing", "Configuration", "Ingest",
            ]
        ),
        room(
            "Admin",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "Logs", "SLS", "Queue",
                "Resolvers", "Delivery", "Credentials", "Routing", "Configuration", "Ingest",
                "Operations", "Rendering", "CFiles",
            ],
            // Served from memory by CFiles.
            excluding: ["Console"]
        ),
        room(
            "Gateway",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "SLS", "Queue",
                "SQLiteQueue", "Fleet", "Resolvers", "Delivery", "Credentials", "Sandbox",
                "Configuration", "Ingest", "Operations", "Admin", "CommitLog",
            ]
        ),
        room(
            "CLI",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "Queue", "SQLiteQueue",
                "Fleet", "Configuration", "Delivery", "CommitLog", "Rendering",
            ]
        ),
        program(
            "sluice",
            path: "Sources/sluice",
            uses: ["System", "Admin", "Gateway", "CLI"]
        ),

        program(
            "sluice-bench",
            path: "Benchmarks/Bench",
            uses: [
                "System", "Crypto", "Net", "Logs", "SLS", "Routing", "Resolvers", "Queue",
                "SQLiteQueue", "CSystem", "CSQLite",
            ]
        ),

        // What tests share: HTTP client, temporary directories, seeded random, waiting, programs, TLS.
        .target(
            name: "CPrograms",
            path: "Tests/CPrograms",
            cSettings: [.define("_GNU_SOURCE")]
        ),
        support("TestSupport", uses: ["System", "Net", "COpenSSL", "CPrograms"]),
        // An HTTP server whose answers a test writes.
        support("TestHTTP", uses: ["System", "Crypto", "Net", "HTTP", "TestSupport"]),
        // Configurations as text.
        support("TestConfiguration", uses: ["Configuration", "TestSupport"]),
        // A whole gateway in the test's process.
        support("TestCommitLog", uses: ["System", "CommitLog", "TestSupport"]),
        // NATS servers.
        support("TestNATS", uses: ["System", "NATS", "TestSupport"]),
        support("TestPostgreSQL", uses: ["System", "TestSupport"]),
        support(
            "TestGateway",
            uses: ["System", "Queue", "Configuration", "Operations", "Gateway", "TestSupport"]
        ),

        tests(of: "System"),
        tests(of: "Rendering", uses: ["JSON"]),
        tests(of: "HTTPClient", uses: ["System", "Crypto"]),
        tests(of: "Net", uses: ["System", "CPrograms"]),
        tests(of: "HTTP", uses: ["System", "Net", "COpenSSL"]),
        tests(of: "Logs", uses: ["System", "JSON", "CLZ4", "CZlib", "CZstd", "CSnappy"]),
        tests(of: "SLS", uses: ["System", "Crypto", "Logs"]),
        tests(of: "Routing", uses: ["System", "JSON", "Crypto", "Logs"]),
        tests(of: "Tokens", uses: ["System", "JSON", "Crypto"]),
        tests(
            of: "Resolvers",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "SLS", "Sandbox",
                "TestHTTP",
            ]
        ),
        tests(
            of: "NATS",
            uses: ["System", "JSON", "Crypto", "Net", "TestNATS"],
            excluding: ["Fixtures"]
        ),
        tests(
            of: "CommitLog",
            uses: [
                "System", "JSON", "Crypto", "NATS", "TestCommitLog", "TestNATS", "TestPostgreSQL",
            ]
        ),
        tests(
            of: "Queue",
            uses: [
                "System", "CommitLog", "TestCommitLog", "Logs", "SQLite", "SQLiteQueue", "CSQLite",
            ]
        ),
        tests(
            of: "Fleet",
            uses: [
                "System", "JSON", "Logs", "Queue", "CommitLog", "SQLiteQueue", "TestCommitLog",
            ]
        ),
        tests(
            of: "Delivery",
            uses: [
                "System", "Crypto", "HTTPClient", "Net", "Logs", "SLS", "Queue", "SQLiteQueue",
                "Sandbox",
                "Configuration",
            ]
        ),
        tests(
            of: "Credentials",
            uses: ["System", "JSON", "Crypto", "HTTPClient", "SLS", "COpenSSL"]
        ),
        tests(
            of: "Sandbox",
            uses: ["System", "JSON", "Crypto", "SQLite", "Logs", "Net", "SLS", "HTTP"]
        ),
        tests(
            of: "Configuration",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "Logs", "SLS", "Queue",
                "Resolvers", "Credentials", "Tokens", "Routing", "NATS", "CommitLog",
                "TestConfiguration",
            ]
        ),
        tests(
            of: "Ingest",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "Logs", "SLS", "Queue",
                "Credentials", "Tokens", "Routing", "Configuration", "TestHTTP",
                "TestConfiguration",
                "CLZ4", "CZlib",
            ]
        ),
        tests(
            of: "Operations",
            uses: [
                "System", "Crypto", "HTTPClient", "Net", "HTTP", "SLS", "Queue", "Credentials",
                "Configuration", "Ingest", "Admin", "Gateway", "TestHTTP", "TestGateway",
            ]
        ),
        tests(
            of: "Admin",
            uses: [
                "System", "JSON", "Crypto", "Net", "HTTP", "Logs", "SLS", "Queue", "Delivery",
                "Credentials", "Sandbox", "Routing", "Configuration", "Ingest", "Operations",
                "Gateway", "Rendering", "TestConfiguration", "TestGateway",
            ]
        ),
        tests(
            of: "Gateway",
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "Logs", "SLS", "Queue",
                "Resolvers", "SQLiteQueue", "Delivery", "Credentials", "Sandbox", "Configuration",
                "Ingest",
                "Operations", "Admin", "Tokens", "Routing", "Rendering", "TestHTTP",
                "TestConfiguration", "TestGateway",
            ]
        ),
        tests(
            of: "CLI",
            uses: ["System", "JSON", "Crypto", "Net", "HTTP", "Configuration", "Rendering"]
        ),
        fuzzEntries(
            uses: [
                "System", "JSON", "Crypto", "HTTPClient", "Net", "HTTP", "Logs", "SLS", "Resolvers",
                "Delivery", "Credentials", "Sandbox", "Configuration", "Ingest", "Operations",
                "Admin",
                "Tokens", "Routing", "NATS", "CommitLog", "Queue", "Fleet",
            ]
        ),
        // Starts the built program as a process.
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "sluice", "System", "Crypto", "Net", "HTTP", "Sandbox", "NATS", "TestSupport",
                "TestNATS", "TestPostgreSQL", "CSQLite",
            ],
            swiftSettings: swiftSettings
        ),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

// SLUICE_TESTS=Queue,HTTP builds only these rooms' tests: tests take most of a debug build.
if let rooms = Context.environment["SLUICE_TESTS"], !rooms.isEmpty {
    let chosen = rooms.split(separator: ",").map { $0.hasSuffix("Tests") ? "\($0)" : "\($0)Tests" }
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}
