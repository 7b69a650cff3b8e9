import Configuration
import Foundation
import Glibc
import System
import TestConfiguration
import TestSupport
import Testing

@Suite struct DocumentedKeysTests {
    private let page = DocumentedKeys()

    @Test("The document has every key that the reader knows, and no other")
    func complete() {
        let documented = page.keys
        let known = KnownKeys.all
        #expect(known.count > 50)
        #expect(known.subtracting(documented).sorted() == [], "not in the document")
        #expect(documented.subtracting(known).sorted() == [], "not known to the reader")
    }

    @Test("A default in the document is the default")
    func defaults() throws {
        let plain = try read(configuration())
        var compared = 0
        // A default may be what another key says.
        for (key, value) in page.defaults
        // The kind of a credential or destination decides which keys it has.
        where !isKnown(value) && !key.hasPrefix("credentials.")
            && !KnownKeys.ofOtherKinds.contains(key)
        {
            compared += 1
            let parts = key.split(separator: ".")
            // The group belongs to one engine, and cannot be without servers.
            if parts.count == 3, let servers = Self.servers[String(parts[1])], parts[0] == "queue" {
                let file = minimal + "queue: {engine: \(parts[1]), \(parts[1]): {\(servers)}}\n"
                let row = "\(parts[2]): \"\(value)\", \(servers)"
                let given = try read(file.replacing(servers, with: row))
                #expect(try given == read(file), "\(key): \(value)")
                continue
            }
            let given = try read(configuration(key, value))
            #expect(given == plain, "\(key): \(value)")
        }
        #expect(compared > 35)
    }

    private static let servers = [
        "jetstream": "servers: \"nats://n1\"", "postgresql": "url: \"postgresql://db1\"",
    ]

    @Test("Every setting of the SDKs' producers has its row, with keys that exist")
    func producerSettings() {
        let settings = Set(page.producerSettings.flatMap(\.settings))
        let missing = Self.producerSettings.filter { !settings.contains($0) }
        #expect(missing == [])
        for (settings, keys) in page.producerSettings {
            for key in keys {
                #expect(isKnown(key), "\(settings): \(key)")
            }
        }
    }

    private func isKnown(_ key: String) -> Bool {
        [key, "destinations.NAME.\(key)"].contains(where: KnownKeys.all.contains)
    }

    private static let producerSettings = [
        "SetTopic", "AddTag", "SetSource", "SetPacketLogBytes", "SetPacketLogCount",
        "SetPacketTimeout", "SetMaxBufferLimit", "SetSendThreadCount", "SetPersistent",
        "SetPersistentFilePath", "SetPersistentForceFlush", "SetPersistentMaxFileCount",
        "SetPersistentMaxFileSize", "SetPersistentMaxLogCount", "SetConnectTimeoutSec",
        "SetSendTimeoutSec", "SetDestroyFlusherWaitSec", "SetDestroySenderWaitSec",
        "SetCompressType", "SetNtpTimeOffset", "SetMaxLogDelayTime", "SetDropDelayLog",
        "SetDropUnauthorizedLog", "setUseWebtracking", "endpoint", "project", "logstore",
        "accessKeyId", "accessKeySecret", "securityToken", "resetSecurityToken",
    ]

    /// A configuration that says one thing.
    private func configuration(_ key: String = "log.level", _ value: String = "info") -> String {
        var parts = key.split(separator: ".").map(String.init)
        let isDestination = parts.starts(with: ["destinations", "NAME"])
        if isDestination { parts.removeFirst(2) }
        let setting =
            parts.reversed().reduce("\"\(value)\"") { inner, part in
                inner.hasPrefix("\"") ? "\(part): \(inner)" : "\(part): {\(inner)}"
            }
        let destination =
            "endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: \"*\""
        return "destinations: {app: {\(destination)\(isDestination ? ", \(setting)" : "")}}\n"
            + (isDestination ? "" : setting + "\n")
    }
}

/// The tables of the pages in docs/ that list settings.
struct DocumentedKeys {
    private(set) var keys: Set<String> = []
    /// Of keys whose default is written as a value.
    private(set) var defaults: [(key: String, value: String)] = []
    private(set) var producerSettings: [(settings: [String], keys: [String])] = []

    init() {
        var header: [String] = []
        for line in Self.lines {
            guard line.hasPrefix("|") else {
                header = []
                continue
            }
            let cells = line.split(separator: "|").map { String($0) }
            guard !header.isEmpty else {
                header = cells
                continue
            }
            guard !cells[0].contains("---") else { continue }
            if header[0].contains("Key") { take(cells, groups: code(in: header[0])) }
            if header[0].contains("SDK") {
                producerSettings.append((code(in: cells[0]), code(in: cells[2])))
            }
        }
    }

    private mutating func take(_ cells: [String], groups: [String]) {
        let written = code(in: cells[0])
        let names =
            groups.isEmpty
            ? written : groups.flatMap { group in written.map { "\(group).\($0)" } }
        keys.formUnion(names)
        guard cells[1].hasPrefix(" `") else { return }
        defaults += zip(names, code(in: cells[1])).map { ($0, $1) }
    }

    /// What stands between backticks.
    private func code(in cell: String) -> [String] {
        let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
    }

    private static let pages = [
        "configuration", "destinations", "routing", "limits", "listeners", "access", "credentials",
        "sdk-settings", "names",
    ]

    private static var lines: [String] {
        pages.flatMap { page in
            let content = (try? fileContent(repositoryFile("docs/\(page).md"))) ?? []
            return String(decoding: content, as: UTF8.self).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            .map(String.init)
        }
    }
}

/// The keys that the reader knows, found out by asking it for one that it cannot know.
enum KnownKeys {
    static let all: Set<String> = {
        var found: Set<String> = []
        for key in known(in: []) where key != "destinations" && key != "credentials" {
            found.formUnion(leaves(of: [key]))
        }
        for kind in kinds { found.formUnion(keys(ofKind: kind)) }
        for from in sources {
            for key in known(in: ["credentials", "NAME"], from: from) {
                found.insert("credentials.NAME.\(key)")
            }
        }
        found.insert("credentials.encryption_key")
        return found
    }()

    /// Those of destinations that are not of kind sls.
    static let ofOtherKinds = all.filter { $0.hasPrefix("destinations.") }
        .subtracting(keys(ofKind: "sls"))

    private static let kinds = ["sls", "http", "file", "stdout"]

    private static func keys(ofKind kind: String) -> Set<String> {
        let group = ["destinations", "NAME"]
        return Set(
            known(in: group, kind: kind).flatMap { leaves(of: group + [$0], kind: kind) }
        )
    }

    private static let sources = [
        "static", "file", "admin", "assume_role", "oidc_role", "ecs_role", "uri", "chain",
    ]
    private static let stranger = String(repeating: "q", count: 60)

    private static func leaves(of path: [String], kind: String? = nil) -> [String] {
        let keys = known(in: path, kind: kind)
        return keys.isEmpty
            ? [path.joined(separator: ".")]
            : keys.flatMap { leaves(of: path + [$0], kind: kind) }
    }

    /// Nothing when there is no such group.
    private static func known(
        in path: [String],
        from source: String? = nil,
        kind: String? = nil
    ) -> [String] {
        var text = "\(stranger): 1"
        if let source { text += ", from: \(source)" }
        for key in path.reversed() {
            if key == "NAME", let kind { text += ", kind: \(kind)" }
            text = "\(key): {\(text)}"
        }
        let directory = TemporaryDirectory()
        let file = directory.file("sluice.yaml", "{\(text)}")
        do {
            _ = try GatewayConfiguration.read(.init(file: file))
            return []
        } catch {
            let start = "unknown key; known: "
            let answer = error.problems.first {
                $0.key == (path + [stranger]).joined(separator: ".") && $0.text.hasPrefix(start)
            }
            return answer.map {
                $0.text.dropFirst(start.count).split(separator: ", ").map(String.init)
            }
                ?? []
        }
    }
}

/// The tables of settings as they are printed.
@Suite struct SettingsReferenceTests {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs")

    /// Every page of docs.
    private static let texts: [String: String] = {
        var pages: [String: String] = [:]
        let files = FileManager.default.enumerator(at: docs, includingPropertiesForKeys: nil)
        for case let file as URL in files! where file.pathExtension == "md" {
            pages[file.lastPathComponent] = try? String(contentsOf: file, encoding: .utf8)
        }
        return pages
    }()

    @Test("The tables of the pages are those of the program", arguments: texts.keys.sorted())
    func pages(name: String) throws {
        let page = try #require(Self.texts[name])
        let tables = page.matches(of: /<!-- settings (\S+) -->\n\n((?s).*?)\n\n<!-- end -->/)
        #expect(
            tables.count == page.components(separatedBy: "<!-- settings ").count - 1,
            "a table has no end"
        )
        for table in tables {
            let found = SettingsReference.all.first { $0.name == table.1 }
            let group = try #require(found, "\(name): there is no table \(table.1)")
            #expect(
                group.markdown == table.2,
                "docs/\(name): the table \(table.1) is stale; run: swift build && Scripts/settings-tables"
            )
        }
    }

    @Test("Each table is on a page")
    func complete() {
        let all = Self.texts.values.joined()
        for table in SettingsReference.all {
            #expect(all.contains("<!-- settings \(table.name) -->"), "\(table.name)")
        }
    }

    @Test("The schemas are JSON and know the settings")
    func schemas() throws {
        func properties(_ schema: String) throws -> [String: Any] {
            let json = try JSONSerialization.jsonObject(with: Data(schema.utf8))
            let object = try #require(json as? [String: Any])
            return try #require(object["properties"] as? [String: Any])
        }
        let file = try properties(SettingsReference.fileSchema)
        #expect(
            Set(file.keys) == [
                "listen", "data_dir", "drain_timeout", "tls", "admin", "queue", "devices",
                "filters",
                "filters_secret", "filters_headers", "routes", "unrouted", "limits", "names",
                "resolvers", "webhook",
                "log", "destinations",
                "credentials",
            ]
        )
        let patch = try properties(SettingsReference.patchSchema)
        let shown = try properties(SettingsReference.settingsSchema)
        #expect(Set(patch.keys).union(DecidedSettings.fileKeys).union(["name"]) == Set(shown.keys))
        #expect(patch["max_logstores"] != nil)
    }

    @Test("The schema in docs is that of the program, and describes each key")
    func fileSchema() throws {
        func object(_ data: Data) throws -> NSDictionary {
            try #require(try JSONSerialization.jsonObject(with: data) as? NSDictionary)
        }
        let schema = try object(Data(SettingsReference.fileSchema.utf8))
        #expect(
            try object(Data(contentsOf: Self.docs.appending(path: "sluice.schema.json"))) == schema,
            "docs/sluice.schema.json is stale; run: swift build && Scripts/settings-tables"
        )
        #expect(schema["$schema"] is String && schema["title"] is String)
        let keys = try #require(schema["properties"] as? [String: NSDictionary])
        for (key, member) in keys { #expect(member["description"] is String, "\(key)") }
        #expect(keys["drain_timeout"]?["default"] as? String == "10s")
        // Words say the default.
        #expect(keys["listen"]?["default"] == nil)
    }

    @Test(
        "The OpenAPI document has the schemas of a destination's settings",
        arguments: [
            ("DestinationPatch", SettingsReference.patchSchema),
            ("DestinationSettings", SettingsReference.settingsSchema),
        ]
    )
    func openAPI(name: String, schema: String) throws {
        func object(_ data: Data) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        }
        let document = try object(Data(contentsOf: Self.docs.appending(path: "openapi.json")))
        let components = try #require(document["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: Any])
        var written = try #require(schemas[name] as? [String: Any])
        written["description"] = nil
        #expect(
            try NSDictionary(dictionary: written)
                == NSDictionary(dictionary: object(Data(schema.utf8))),
            "docs/openapi.json is stale; run: swift build && Scripts/settings-tables"
        )
    }

    @Test("Every setting has a sentence")
    func help() {
        for table in SettingsReference.all {
            for (path, setting) in table.rows {
                #expect(!setting.help.isEmpty, "\(table.fullKey(path))")
                #expect(!setting.plainHelp.contains("]("), "\(table.fullKey(path))")
            }
        }
    }
}
