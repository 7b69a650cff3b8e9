import Resolvers
import Routing

/// A table of settings as the pages and `sluice help settings` show it.
package struct SettingsReference {
    /// What the command and the pages' markers call it.
    package let name: String
    /// The groups that have these keys; empty for the file itself.
    package let groups: [String]
    let settings: [SettingDescription]
    /// What the last column of the page tells.
    private var meaning = "Meaning"

    package static var all: [SettingsReference] {
        [
            .init(
                "general",
                [],
                (GatewayConfiguration.ownSettings + [GatewayConfiguration.resolversSetting])
                    .map(\.description)
            ),
            .init("admin", ["admin"], AdminSettings.descriptions),
            .init("admin.client", ["admin.client"], AdminClientEntry.descriptions),
            .init("tls", ["tls"], [DeviceTLSEntry.listenSetting.description]),
            .init("tls/files", ["tls", "admin.tls"], TLSEntry.descriptions),
            .init("queue", ["queue"], QueueSettings.descriptions),
            .init("queue.jetstream", ["queue.jetstream"], JetStreamEntry.descriptions),
            .init("queue.postgresql", ["queue.postgresql"], PostgreSQLEntry.descriptions),
            .init("devices", ["devices"], DeviceSettings.descriptions),
            .init("devices.keys", ["devices.keys[]"], DeviceKey.descriptions),
            .init("devices.jwt", ["devices.jwt"], DeviceTokensEntry.descriptions),
            .init("devices.jwt.keys", ["devices.jwt.keys[]"], DeviceTokensEntry.keyDescriptions),
            .init("routing", [], GatewayConfiguration.routingSettings.map(\.description)),
            .init("filters", ["filters[]"], Filter.descriptions),
            .init("filters/steps", ["filters[].steps[]"], StepEntry.descriptions),
            .init("filters/when", ["filters[].steps[].when"], ConditionEntry.descriptions),
            .init("routes", ["routes[]"], Route.descriptions),
            .init("limits", ["limits"], LimitSettings.descriptions, meaning: "Answer beyond it"),
            .init("names", ["names"], NameSettings.descriptions),
            .init("resolvers", ["resolvers[]"], ResolverEntry.descriptions),
            .init("webhook", ["webhook"], WebhookSettings.descriptions),
            .init("log", ["log"], LogSettings.descriptions),
            .init("destinations/kind", destination, Destination.kindSettings),
            .init("destinations/target", destination, Destination.targetSettings),
            .init("destinations/http", destination, Destination.httpSettings),
            .init("destinations/file", destination, Destination.fileSettings),
            .init("destinations/sending", destination, Destination.sendingSettings),
            .init("destinations/logs", destination, Destination.logSettings),
            .init("destinations/backlog", destination, Destination.backlogSettings),
            .init("credentials", ["credentials"], CredentialsGroup.descriptions),
            .init(
                "credentials/kind",
                ["credentials.NAME"],
                CredentialEntry.descriptions.filter { $0.key == "from" }
            ),
        ] + credentialKinds
    }

    /// A key that several kinds of credentials have is in the first one's table.
    private static var credentialKinds: [SettingsReference] {
        var known: Set<String> = []
        return CredentialEntry.kinds.compactMap { kind in
            let settings = CredentialEntry.descriptions.filter {
                kind.value.contains($0.key) && known.insert($0.key).inserted
            }
            guard !settings.isEmpty else { return nil }
            return SettingsReference("credentials/\(kind.key)", ["credentials.NAME"], settings)
        }
    }

    private static let destination = ["destinations.NAME"]

    private init(
        _ name: String,
        _ groups: [String],
        _ settings: [SettingDescription],
        meaning: String = "Meaning"
    ) {
        self.name = name
        self.groups = groups
        self.settings = settings
        self.meaning = meaning
    }

    private init(_ name: String, _ groups: [String], _ rows: [Setting<Destination>]) {
        self.init(name, groups, rows.map(\.description))
    }

    /// Of options: the only words that their settings may be.
    package static let choices = Dictionary(
        uniqueKeysWithValues: all.flatMap(\.settings).compactMap { setting in
            setting.override.option.flatMap { option in setting.choices.map { (option, $0) } }
        }
    )

    /// The keys within the group.
    package var rows: [(path: String, setting: SettingDescription)] { settings.flatMap(\.leaves) }

    /// Its first group with the key: "queue.max_bytes".
    package func fullKey(_ path: String) -> String { groups.first.map { "\($0).\(path)" } ?? path }

    /// "destinations" finds all tables of destinations, "queue" one.
    package func isMeant(by word: String) -> Bool {
        name == word || name.hasPrefix(word + "/") || groups.contains(word)
    }

    /// For a page in docs.
    package var markdown: String {
        let rows = rows
        let hasSources = rows.contains { !$0.setting.sources.isEmpty }
        // Entries of a list are settings of an item, not keys of the file.
        let isEntry = groups.first?.contains("[]") ?? false
        let names = groups.map { "`\($0.replacing("[]", with: ""))`" }.joined(separator: " and ")
        let key = (isEntry ? "Setting" : "Key") + (names.isEmpty ? "" : " of \(names)")
        var lines = [([key, "Default"] + (hasSources ? ["Option, variable"] : []) + [meaning])]
        lines.append(lines[0].map { _ in "---" })
        for (path, setting) in rows {
            let sources = setting.sources.map { "`\($0)`" }.joined(separator: ", ")
            lines.append(
                ["`\(path)`", setting.defaultText] + (hasSources ? [sources] : [])
                    + [setting.help]
            )
        }
        // A divider has no spaces.
        return lines.map { cells in
            cells.allSatisfy { $0 == "---" }
                ? "|\(cells.joined(separator: "|"))|"
                : "|" + cells.map { $0.isEmpty ? " |" : " \($0) |" }.joined()
        }.joined(separator: "\n")
    }

    // MARK: - Schemas

    /// The JSON schema of the configuration file, which editors check YAML with.
    package static var fileSchema: String {
        let destination = JSONSchema.file(Destination.descriptions)
        let credential = JSONSchema.file(CredentialEntry.descriptions)
        let others: [JSONSchema.Member] = [
            ("destinations", .described("where logs go, by name", .map(of: destination)), false),
            // One of its keys is no name of a credential.
            (
                "credentials",
                .described(
                    "what signs requests to SLS, by name",
                    .map(of: .either([credential, .scalar(pattern: nil), .null]))
                ),
                false
            ),
        ]
        let members = GatewayConfiguration.descriptions.map { ($0.key, $0.fileSchema, false) }
        let condition = JSONSchema.file(ConditionEntry.descriptions)
        return JSONSchema.document(
            "The configuration of Sluice",
            definitions: [("condition", condition)],
            .object(members + others)
        ).text
    }

    /// What PATCH /admin/destinations/{name} takes.
    package static var patchSchema: String {
        let settings = Destination.descriptions.filter {
            !DecidedSettings.fileKeys.contains($0.key)
        }
        return JSONSchema.object(settings.map { ($0.key, $0.patchSchema, false) }).text
    }

    /// `settings` in the answers of /admin/destinations.
    package static var settingsSchema: String {
        let name: JSONSchema.Member = ("name", .string, true)
        let members = Destination.descriptions.map {
            ($0.key, $0.shownSchema, DestinationKind.kinds(with: $0.key) == nil)
        }
        return JSONSchema.object([name] + members).text
    }
}
