import Configuration
import Foundation
import Testing

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
