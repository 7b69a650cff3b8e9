import Crypto
import Glibc
import HTTPClient
import JSON
import Logs
import Queue
import SLS
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

@Suite struct DestinationKindTests {
    private let directory = TemporaryDirectory()

    /// The one destination of a file, which may be of any kind.
    private func destination(_ settings: String) throws -> Destination {
        try read("destinations: {out: {\(settings)}}\n", [:]).destinations[0]
    }

    private func problems(_ settings: String) -> [String] {
        TestConfiguration.problems("destinations: {out: {\(settings)}}\n", [:])
    }

    @Test("An HTTP server needs no more than its URL")
    func plain() throws {
        let read = try destination("kind: http, url: \"https://logs.example.com/in?key=hush\"")
        #expect(read.kind == .http)
        #expect(read.place == "https://logs.example.com")
        #expect(read.logstore == .named("logs"))
        #expect(read.queueRules.logstore == "logs")
        #expect(read.credentialInUse == nil)
        #expect(read.http.address?.url == Secret("https://logs.example.com/in?key=hush"))
        #expect(read.bodyCompression == .gzip)
        #expect(read.http.body == .array)
        #expect(read.shape == .flat)
        #expect(read.http.successes.isEmpty)
    }

    @Test("All settings of an HTTP server")
    func full() throws {
        let (chain, key) = (directory.file("chain.pem", "x"), directory.file("key.pem", "x"))
        let read = try destination(
            "kind: http, url: \"http://127.0.0.1:9/in\", body: ndjson, shape: nested, compress: zstd, "
                + "success: [200, 201], headers: {Authorization: \"Bearer hush\", x-team: logs}, "
                + "cert_file: \(chain), key_file: \(key), required: false, "
                + "retry: {first: 2s, most: 5m, times: 3}"
        )
        #expect(read.kind == .http)
        #expect(read.http.body == .lines)
        #expect(read.shape == .nested)
        #expect(read.bodyCompression == .zstd)
        #expect(read.http.successes == [200, 201])
        #expect(read.http.headers.map(\.name) == ["authorization", "x-team"])
        #expect(read.http.headers.first?.value == Secret("Bearer hush"))
        #expect(read.http.clientCertificate?.keyFile == key)
        let retry = Backoff(first: .seconds(2), longest: .seconds(300), times: 3)
        #expect(read.transfer.retry == retry)
        #expect(!read.isRequired)
    }

    @Test("Secrets are not shown, and keys of other kinds neither")
    func shown() throws {
        let read = try destination(
            "kind: http, url: \"https://logs.example.com/in?key=hush\", headers: {x: hush-hush}"
        )
        var json = JSONWriter()
        json.object { $0.settings(read) }
        #expect(!json.text.contains("hush"))
        #expect(json.text.contains(#""url":"https://logs.example.com""#))
        #expect(json.text.contains(#""headers":{"x":"•••"}"#))
        #expect(json.text.contains(#""compress":"gzip""#))
        #expect(!json.text.contains(#""project""#) && !json.text.contains(#""rotate""#))
        #expect(!"\(read)".contains("hush"))
    }

    @Test("The preset of Puree yields to what is given")
    func preset() throws {
        let url = "kind: http, url: \"https://logs.example.com/in\", preset: puree"
        let read = try destination(url)
        #expect(read.transfer.packet.logs == 5)
        #expect(read.transfer.packet.age == .seconds(10))
        #expect(read.transfer.retry.first == .seconds(2))
        #expect(read.transfer.retry.times == 3)
        let other = try destination(url + ", packet: {age: 3s}, retry: {times: 7}")
        #expect(other.transfer.packet.logs == 5)
        #expect(other.transfer.packet.age == .seconds(3))
        #expect(other.transfer.retry.first == .seconds(2))
        #expect(other.transfer.retry.times == 7)
    }

    static let wrong: [(String, String)] = [
        ("kind: http", "url: is missing"),
        ("HTTP, project: p", "is for kind sls; this destination is of kind http"),
        ("HTTP, path: /x", "is for kind file; this destination is of kind http"),
        ("HTTP, compress: lz4", "lz4 is not for kind http"),
        ("kind: http, url: \"https://me:hush@logs.example.com\"", "holds a name or password"),
        ("HTTP, headers: {content-type: x}", "set by Sluice itself"),
        ("HTTP, success: [302]", "302 is not between 200 and 299"),
        ("HTTP, retry: {first: 2m}", "raise most, or lower first"),
        ("kind: file, path: archive", "is not absolute"),
        ("kind: file", "path: is missing"),
        ("kind: file, path: /var/log/", "does not name a file"),
        ("kind: ftp", "is not one of sls, http, file, stdout"),
        ("SLS, url: x", "is for kind http; this destination is of kind sls"),
        ("SLS, compress: gzip", "gzip is not for kind sls"),
    ]

    @Test("What cannot be is told with the key and the remedy", arguments: wrong)
    func mistakes(settings: String, reason: String) {
        let sls = "endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: a-log"
        let told = problems(
            settings.replacing("HTTP", with: "kind: http, url: \"https://logs.example.com\"")
                .replacing("SLS", with: sls)
        )
        #expect(told.contains { $0.contains(reason) }, "\(told)")
        #expect(!told.joined().contains("hush"))
    }

    @Test("One mistake is told once")
    func once() {
        #expect(problems("kind: http").count == 1)
        #expect(problems("kind: ftp, url: x").count == 1)
        #expect(problems("kind: http, url: \"https://logs.example.com\", lanes: 3").count == 1)
    }

    @Test("A file, and the standard output")
    func local() throws {
        let file = try destination(
            "kind: file, path: /var/log/a.ndjson, shape: nested, "
                + "rotate: {bytes: 100MiB, age: 1d, keep: 3, compress: zstd}"
        )
        #expect(file.kind == .file)
        #expect(file.file.path == "/var/log/a.ndjson")
        #expect(file.shape == .nested)
        #expect(
            file.file.rotation
                == .init(bytes: 100 << 20, age: .seconds(86_400), keep: 3, compression: .zstd)
        )
        let output = try destination("kind: stdout")
        #expect(output.kind == .stdout && output.shape == .flat)
    }

    @Test("Two destinations do not write to one place")
    func shared() {
        for settings in ["kind: stdout", "kind: file, path: /var/log/a.ndjson"] {
            #expect(throws: ConfigurationProblems.self) {
                try read("destinations: {one: {\(settings)}, two: {\(settings)}}\n", [:])
            }
        }
    }

    /// A configuration whose one destination is this.
    private func configuration(_ settings: String) throws -> GatewayConfiguration {
        try read(
            "destinations: {out: {\(settings)}}\n"
        )
    }

    private static let http = "kind: http, url: \"https://logs.example.com/in\""

    @Test(
        "A change is told by its key and holds at once",
        arguments: [
            ("body: ndjson", "body"), ("shape: nested", "shape"), ("success: 200", "success"),
            ("headers: {x-team: hush}", "headers"), ("compress: zstd", "compress"),
        ]
    )
    func changes(setting: String, key: String) throws {
        var running = try configuration(Self.http)
        let new = try configuration(Self.http + ", " + setting)
        let changes = running.changes(to: new)
        #expect(changes == [.init(key: "destinations.out.\(key)", isImmediate: true)])
        running.apply(new)
        #expect(running.destinations == new.destinations)
    }

    @Test("A destination of another kind begins with a restart")
    func newKind() throws {
        let sls = try configuration(
            "endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: app-log"
        )
        var running = sls
        let new = try configuration(Self.http)
        let changes = running.changes(to: new)
        #expect(changes.contains(.init(key: "destinations.out.kind", isImmediate: false)))
        running.apply(new)
        #expect(running.destinations == sls.destinations)
        #expect(running.credentials["default"] != nil, "it is still delivered with")
    }
}

/// Destinations of kind file, and the files that they must not touch.
@Suite struct GuardedPathTests {
    private let directory = TemporaryDirectory()
    private let line = "{\"date\":\"2025-01-14T08:30:00Z\",\"tag\":\"\"}\n"

    /// What is wrong with a configuration whose destination writes to this path.
    private func problems(
        _ path: String,
        _ more: String = "",
        _ environment: [String: String] = [:],
        other: String? = nil
    ) -> [String] {
        let other = other.map { ", other: \($0)" } ?? ""
        let text = """
            data_dir: \(directory.path)/data
            destinations: { archive: { kind: file, path: \(path) }\(other) }
            \(more)
            """
        let inputs = ConfigurationInputs(
            file: directory.file("sluice.yaml", text),
            environment: environment
        )
        do throws(ConfigurationProblems) {
            _ = try GatewayConfiguration.read(inputs)
            return []
        } catch {
            return error.problems.map { "\($0.key) \($0.text)" }
        }
    }

    @Test("A path in data_dir is refused, also by a symbolic or a hard link")
    func dataDirectory() {
        mkdir("\(directory.path)/data", 0o755)
        symlink("data", "\(directory.path)/link")
        directory.file("data/queue.db", line)
        link("\(directory.path)/data/queue.db", "\(directory.path)/hard.db")
        for name in ["data/queue.db", "data/new.ndjson", "link/new.ndjson", "hard.db"] {
            #expect(
                problems("\(directory.path)/\(name)") == [
                    "destinations.archive.path is in data_dir, which logs would destroy; choose another path"
                ]
            )
        }
        #expect(problems("\(directory.path)/data.ndjson") == [])
    }

    @Test(
        "A file that the configuration or the environment uses elsewhere is refused",
        arguments: [
            "admin: { token: \"${file:FILE}\" }",
            "credentials: { other: { from: file, path: FILE } }",
            "credentials: { other: { from: file, path: \"${OTHER}\" } }",
            "resolvers: { ali: { kind: alibaba, account: \"1\", ca_file: FILE } }",
            "webhook: { url: \"http://127.0.0.1/\", authorization: \"${file:FILE}\" }",
        ]
    )
    func named(setting: String) {
        let file = directory.file("token", line)
        symlink(file, "\(directory.path)/link")
        link(file, "\(directory.path)/hard")
        let environment = ["OTHER": file]
        for name in ["token", "hard"] {
            let found = problems(
                "\(directory.path)/\(name)",
                setting.replacing("FILE", with: "\(directory.path)/link"),
                environment
            )
            let claim = "destinations.archive.path is a file that the configuration uses elsewhere"
            #expect(found.contains { $0.hasPrefix(claim) }, "\(found)")
        }
        #expect(!problems("\(directory.path)/sluice.yaml").isEmpty)
    }

    @Test("No destination writes to another one's file, by whatever path, or to its archives")
    func otherDestinations() {
        symlink(".", "\(directory.path)/link")
        let files = ["link/a.ndjson", "a.ndjson.20250114T083000Z.1", "a.ndjson.1"]
        let found = files.map { name in
            problems(
                "\(directory.path)/a.ndjson",
                "",
                [:],
                other: "{ kind: file, path: \(directory.path)/\(name) }"
            )
        }
        #expect(found[0].count == 1 && found[0][0].contains("as archive does"), "\(found)")
        #expect(
            found[1] == [
                "destinations.other.path has the form of an archive of archive, which would remove it; "
                    + "choose another path"
            ]
        )
        #expect(found[2] == [])
    }

    @Test("A path that comes from a variable is accepted again once its file is there")
    func variable() {
        let file = directory.file("logs.ndjson", line)
        let written = ["LOG_FILE": file]
        for _ in 0..<2 { #expect(problems("\"${LOG_FILE}\"", "", written) == []) }
        #expect(problems(file, "", written) == [])
        let other =
            "resolvers: { ali: { kind: alibaba, account: \"1\", ca_file: \"${LOG_FILE}\" } }"
        for (more, environment) in [
            (other, written), ("", ["SLUICE_ADMIN_TOKEN_FILE": file, "LOG_FILE": file]),
            ("", ["ALIBABA_CLOUD_OIDC_TOKEN_FILE": file, "LOG_FILE": file]),
        ] {
            let found = problems("\"${LOG_FILE}\"", more, environment)
            #expect(found.contains { $0.contains("uses elsewhere") }, "\(found)")
        }
    }

    @Test("No decision of an operator names a file, whatever the setting")
    func decided() throws {
        let file = directory.file("logs.ndjson", line)
        let text = "destinations: { archive: { kind: file, path: \(file) } }\n"
        let reader = ConfigurationReader(
            ConfigurationInputs(file: directory.file("sluice.yaml", text))
        )
        for key in ["path", "ca_file", "cert_file", "key_file"] {
            let decided = try DecidedSettings(json: Array("{\"\(key)\":\"/tmp/x\"}".utf8))
            let error = #expect(throws: ConfigurationProblems.self) {
                try reader.read(["archive": decided], rereadsFile: true)
            }
            #expect(
                error?.description.contains("names a file and cannot be changed by PATCH") == true,
                "\(error?.description ?? "")"
            )
        }
        // Each setting that is a path is among them.
        let paths = Destination.descriptions.filter { $0.wants.contains("path") }.map(\.key)
        #expect(Set(paths) == ["path", "ca_file", "cert_file", "key_file"])
        #expect(!SettingsReference.patchSchema.contains("_file\""))
    }
}
