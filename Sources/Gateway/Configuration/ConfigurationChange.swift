/// A setting that differs between two configurations.
package struct ConfigurationChange: Equatable, Sendable {
    package let key: String
    /// Whether it takes effect without a restart.
    package let isImmediate: Bool
}

extension GatewayConfiguration {
    package func changes(to new: GatewayConfiguration) -> [ConfigurationChange] {
        var changes: [ConfigurationChange] = []
        func compare(_ key: String, isImmediate: Bool = false, _ isSame: Bool) {
            if !isSame { changes.append(.init(key: key, isImmediate: isImmediate)) }
        }
        compare("listen", listen == new.listen)
        compare("admin.listen", admin.listen == new.admin.listen)
        // Without a token of the operator's the generated one goes on.
        compare("admin.token", isImmediate: new.admin.token != nil, admin.token == new.admin.token)
        compare("data_dir", dataDirectory == new.dataDirectory)
        compare("queue", queue == new.queue)
        compare("limits", limits == new.limits)
        compare("log.format", log.format == new.log.format)
        compare("log.level", isImmediate: true, log.level == new.log.level)
        compare("drain_timeout", isImmediate: true, drainTimeout == new.drainTimeout)
        for name in Set(credentials.keys).union(new.credentials.keys).sorted() {
            let users = users(of: name)
            if new.credentials[name] == nil, !users.isEmpty {
                let plural = users.count == 1 ? "" : "s"
                compare(
                    "credentials.\(name) (gone, but still used by destination\(plural) "
                        + "\(users.joined(separator: " and ")))",
                    false
                )
            } else {
                compare(
                    "credentials.\(name)",
                    isImmediate: true,
                    credentials[name] == new.credentials[name]
                )
            }
        }
        let names = Set(destinations.map(\.name)).union(new.destinations.map(\.name)).sorted()
        for name in names {
            guard let before = destination(name), let after = new.destination(name) else {
                compare("destinations.\(name)", false)
                continue
            }
            compare(
                "destinations.\(name) (topic, source, tags)",
                isImmediate: true,
                before.labels == after.labels
            )
            var relabelled = before
            relabelled.labels = after.labels
            compare("destinations.\(name)", relabelled == after)
        }
        return changes
    }

    /// Takes over what takes effect at once.
    mutating func apply(_ new: GatewayConfiguration) {
        if let token = new.admin.token { admin.token = token }
        log.level = new.log.level
        drainTimeout = new.drainTimeout
        // One that is gone stays for the destinations that still use it.
        credentials = new.credentials.merging(
            credentials.filter { !users(of: $0.key).isEmpty }
        ) { new, _ in new }
        for index in destinations.indices {
            if let after = new.destination(destinations[index].name) {
                destinations[index].labels = after.labels
            }
        }
    }

    /// The destinations that sign with a credential.
    private func users(of credential: String) -> [String] {
        destinations.filter { $0.credential == credential }.map(\.name)
    }

    private func destination(_ name: String) -> Destination? {
        destinations.first { $0.name == name }
    }
}
