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
            compare(
                "credentials.\(name)",
                isImmediate: true,
                credentials[name] == new.credentials[name]
            )
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
        // Credentials that are gone stay for the destinations that still use them.
        credentials.merge(new.credentials) { $1 }
        for index in destinations.indices {
            if let after = new.destination(destinations[index].name) {
                destinations[index].labels = after.labels
            }
        }
    }

    private func destination(_ name: String) -> Destination? {
        destinations.first { $0.name == name }
    }
}
