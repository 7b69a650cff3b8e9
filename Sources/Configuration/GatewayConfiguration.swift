package import Credentials
package import Crypto
package import Net
package import Queue
package import Resolvers
package import Routing
package import System

/// Everything that an operator can set, read and checked once.
package struct GatewayConfiguration: SettingGroup, Sendable, Equatable {
    package var listen = ListenAddress.everywhere(port: 8080)
    /// Nil leaves devices with the listener that speaks plain HTTP.
    package var tls: DeviceTLS?
    package var admin = AdminSettings()
    package var dataDirectory = Self.usualDataDirectory
    /// The file's data directory, where the environment's beats it.
    var overruledDirectory: String?
    package var queue = QueueSettings()
    package var devices = DeviceSettings()
    /// Filters and routes.
    package var routing = RoutingRules()
    package var destinations: [Destination] = []
    /// By the name that destinations use.
    package var credentials: [String: CredentialSource] = [:]
    /// Those of them that the file no longer has, and that removed destinations still sign with.
    private var borrowedCredentials: Set<String> = []
    /// Pushed credentials are stored under it; without it they are kept in memory only.
    package var encryptionKey: Secret?
    /// Who is told when a credential is not well.
    package var webhook = WebhookSettings()
    /// What sources look at that are told to look around.
    package var environment = HiddenEnvironment()
    /// Resolvers, and the cache of what they answer.
    package var names = NameSettings()
    package var log = LogSettings()
    package var limits = LimitSettings()
    /// Where its settings were given.
    package var origins = SettingOrigins()
    /// How long a stop may take to finish requests and deliver what is queued.
    package var drainTimeout: Duration = .seconds(10)

    // MARK: - Settings

    static let listenSource = Override(option: "--listen", variable: "SLUICE_LISTEN")
    package static let dataDirectorySource = Override(
        option: "--data-dir",
        variable: "SLUICE_DATA_DIR"
    )
    package static let usualDataDirectory = "/var/lib/sluice"
    static let sandboxedDataDirectory = "sluice-data"
    /// Where a gateway keeps its data that was told nothing.
    package static let usualDataDirectories = [usualDataDirectory, sandboxedDataDirectory]

    /// All but the destinations and credentials, which are read with the operator's names of them.
    static var settings: [Setting<GatewayConfiguration>] {
        ownSettings
        tlsSetting
        Setting(group: "admin", \.admin)
        Setting(group: "queue", \.queue)
        Setting(group: "devices", \.devices)
        routingSettings
        Setting(group: "limits", \.limits)
        Setting(group: "names", \.names)
        resolversSetting
        Setting(group: "webhook", \.webhook)
        Setting(group: "log", \.log)
    }

    @SettingRows<GatewayConfiguration> static var ownSettings: [Setting<GatewayConfiguration>] {
        Setting("listen", \.listen, .listenAddress) {
            "where devices post ([addresses](listeners.md#addresses)); a group `tls` adds a "
            "[TLS](listeners.md#tls) listener"
        }
        .from(listenSource).default("`:8080`; with `--sandbox` `127.0.0.1:8080`").reload(.atRestart)
        Setting("data_dir", \.dataDirectory, .path) {
            "where the queue lives; one process at a time. The [image](deployment.md#the-image) "
            "sets the variable"
        }
        .from(dataDirectorySource)
        .default("`/var/lib/sluice`; with `--sandbox` `sluice-data`")
        .reload(.atRestart)
        Setting("drain_timeout", \.drainTimeout, .duration(.zero ... .seconds(3600))) {
            "how long a stop may take to deliver; unfinished requests get half of it"
        }
    }

    static var resolversSetting: Setting<GatewayConfiguration> {
        NameSettings.resolversSetting.lifted(\.names)
    }

    /// A reload replaces certificates; a listener is added or removed by a restart.
    private static var tlsSetting: Setting<GatewayConfiguration> {
        Setting("tls", .group(of: DeviceTLSEntry.self)) {
            "a second listener for devices, see [listeners](listeners.md#tls)"
        } read: { section, configuration in
            configuration.tls = DeviceTLSEntry.read(section.section("tls"))
            return true
        } changes: { old, new in
            guard let before = old.tls, let after = new.tls else {
                return old.tls == new.tls ? [] : [.init(key: "tls", isImmediate: false)]
            }
            var changes: [ConfigurationChange] = []
            if before.settings != after.settings { changes.append(.init(key: "tls")) }
            if before.listen != after.listen {
                changes.append(.init(key: "tls.listen", isImmediate: false))
            }
            return changes
        } apply: { running, new in
            if let new = new.tls { running.tls?.settings = new.settings }
        }
    }
}

// MARK: - Reload

extension GatewayConfiguration {
    /// What a reload changes, in the order of the tables.
    package func changes(to new: GatewayConfiguration) -> [ConfigurationChange] {
        changes(to: new, at: "") + credentialChanges(to: new) + destinationChanges(to: new)
    }

    private func credentialChanges(to new: GatewayConfiguration) -> [ConfigurationChange] {
        let kept = kept(under: new)
        // Only a start reads it.
        let key: [ConfigurationChange] =
            encryptionKey == new.encryptionKey
            ? [] : [.init(key: "credentials.encryption_key", isImmediate: false)]
        return key
            + Set(credentials.keys).union(new.credentials.keys).sorted().compactMap { name in
                let users = kept.filter { $0.credentialInUse == name }
                if new.credentials[name] == nil, !users.isEmpty {
                    guard !borrowedCredentials.contains(name) else { return nil }
                    let plural = users.count == 1 ? "" : "s"
                    return .init(
                        key: "credentials.\(name) (gone, but still used by destination\(plural) "
                            + "\(users.map(\.name).joined(separator: " and ")))",
                        isImmediate: users.allSatisfy { new.destination($0.name) == nil }
                    )
                }
                return credentials[name] == new.credentials[name]
                    ? nil : .init(key: "credentials.\(name)", isImmediate: true)
            }
    }

    private func destinationChanges(to new: GatewayConfiguration) -> [ConfigurationChange] {
        var changes: [ConfigurationChange] = []
        let names = Set(destinations.map(\.name)).union(new.destinations.map(\.name)).sorted()
        for name in names {
            let key = "destinations.\(name)"
            switch (destination(name), new.destination(name)) {
            case (let before?, let after?) where before.kind != after.kind:
                changes.append(.init(key: "\(key).kind", isImmediate: false))
            case (let before?, let after?):
                changes += before.changes(to: after, at: key + ".")
            case (nil, _?): changes.append(.init(key: "\(key) (new)", isImmediate: true))
            case (_?, nil): changes.append(.init(key: "\(key) (gone)", isImmediate: true))
            case (nil, nil): continue
            }
        }
        return changes
    }

    /// So many removed destinations may deliver their last logs at a time.
    package static let removedMax = 64

    /// Why the new configuration cannot follow this one while it runs; nil: it can.
    package func obstacle(to new: GatewayConfiguration) -> String? {
        for removed in destinations where removed.isRemoved {
            guard let again = new.destination(removed.name), again.kind != removed.kind else {
                continue
            }
            return "destinations.\(removed.name).kind: the removed destination of kind "
                + "\(removed.kind.rawValue) still delivers its last logs; use another name, or "
                + "send SIGHUP again when it is closed"
        }
        let count = destinations.count { new.destination($0.name) == nil }
        return count <= Self.removedMax
            ? nil
            : "destinations: \(count) removed destinations would deliver their last logs at a time; "
                + "at most \(Self.removedMax) may"
    }

    /// Takes over what takes effect at once.
    package mutating func apply(_ new: GatewayConfiguration) {
        for setting in Self.settings { setting.apply(&self, new) }
        origins = new.origins
        let kept = Set(kept(under: new).compactMap(\.credentialInUse))
        // One that is gone stays for the destinations that still use it.
        let given = new.credentials.filter { !new.borrowedCredentials.contains($0.key) }
        borrowedCredentials = kept.subtracting(given.keys)
        credentials = given.merging(
            credentials.filter { borrowedCredentials.contains($0.key) }
        ) { given, _ in given }
        let removed = destinations.filter { new.destination($0.name) == nil }
        // One of another kind begins with a restart.
        destinations =
            new.destinations.filter { !$0.isRemoved }.map { after in
                destination(after.name).flatMap { $0.kind == after.kind ? nil : $0 } ?? after
            }
            + removed.map { destination in
                var destination = destination
                destination.isRemoved = true
                return destination
            }
    }

    /// Forgets removed destinations that have delivered everything.
    package mutating func forget(_ names: Set<String>) {
        destinations.removeAll { $0.isRemoved && names.contains($0.name) }
        let used = Set(destinations.compactMap(\.credentialInUse))
        for name in borrowedCredentials.subtracting(used) {
            credentials[name] = nil
            borrowedCredentials.remove(name)
        }
    }

    /// Destinations that go on as they are, because the new configuration knows nothing of them.
    private func kept(under new: GatewayConfiguration) -> [Destination] {
        destinations.filter { new.destination($0.name)?.kind != $0.kind }
    }

    /// One that is not removed.
    private func destination(_ name: String) -> Destination? {
        destinations.first { $0.name == name && !$0.isRemoved }
    }
}

// MARK: - Uses

extension GatewayConfiguration {
    /// The destination of batches whose `Host` names no configured project.
    package var defaultDestination: Destination {
        destination("default") ?? destinations[0]
    }

    /// How a listener speaks TLS, by the name it has in reports; nil speaks none.
    package func tls(of listener: String) -> TLSSettings? {
        switch listener {
        case "admin": admin.tls
        case DeviceTLS.listener: tls?.settings
        default: nil
        }
    }

    package var queueBounds: QueueBounds {
        QueueBounds(
            bytesMax: queue.bytesMax,
            ageMax: queue.ageMax,
            freeBytesMin: queue.freeBytesMin,
            deadLetterAgeMax: queue.deadLetterAgeMax,
            streamsMax: queue.streamsMax,
            senders: devices.senders.count
        )
    }

    package var queueRules: [String: DestinationRules] {
        Dictionary(
            destinations.map { ($0.name, $0.queueRules) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}

/// The group `log`.
package struct LogSettings: SettingGroup, Sendable, Equatable {
    package var level = Journal.Level.info
    /// Absent, it follows from whether standard error is a terminal.
    package var format: Journal.Format?

    static var settings: [Setting<LogSettings>] {
        Setting(
            "format",
            \.format,
            Kind<Journal.Format?>.choice(["auto": nil, "json": .json, "text": .text])
        ) { "`json`, `text`, or `auto`: text on a terminal" }
        .reload(.atRestart)
        Setting(
            "level",
            \.level,
            .choice(["debug": .debug, "info": .info, "warning": .warning, "error": .error])
        ) { "`debug`, `info`, `warning` or `error`" }
        .from(Override(option: "--log-level", variable: "SLUICE_LOG_LEVEL"))
    }
}

/// The environment's variables, some of which are secrets: printing them shows their names only.
package struct HiddenEnvironment: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    package let variables: [String: String]

    package init(_ variables: [String: String] = [:]) {
        self.variables = variables
    }

    package var description: String { "\(variables.keys.sorted())" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
