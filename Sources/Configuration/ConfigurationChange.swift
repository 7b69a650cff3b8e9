import HTTP

/// A setting that differs between two configurations.
package struct ConfigurationChange: Equatable, Sendable {
    package let key: String
    /// Whether it takes effect without a restart.
    package let isImmediate: Bool
}

extension GatewayConfiguration {
    /// What a reload changes, in the order of the document.
    package func changes(to new: GatewayConfiguration) -> [ConfigurationChange] {
        ownChanges(to: new) + credentialChanges(to: new) + destinationChanges(to: new)
    }

    private func ownChanges(to new: GatewayConfiguration) -> [ConfigurationChange] {
        var changes: [ConfigurationChange] = []
        func compare<Value: Equatable>(
            _ key: String,
            _ path: KeyPath<GatewayConfiguration, Value>,
            isImmediate: Bool = false
        ) {
            guard self[keyPath: path] != new[keyPath: path] else { return }
            changes.append(.init(key: key, isImmediate: isImmediate))
        }
        compare("listen", \.listen)
        // Certificates are replaced in a listener that has some.
        compare("tls", \.tls?.settings, isImmediate: tls != nil && new.tls != nil)
        if tls != nil, new.tls != nil { compare("tls.listen", \.tls?.listen) }
        compare("admin.listen", \.admin.listen)
        // Without a token of the operator's the generated one goes on.
        compare("admin.token", \.admin.token, isImmediate: new.admin.token != nil)
        compare("admin.tokens", \.admin.tokens, isImmediate: true)
        compare("admin.tls", \.admin.tls, isImmediate: admin.tls != nil && new.admin.tls != nil)
        compare("admin.client", \.admin.client, isImmediate: true)
        compare("data_dir", \.dataDirectory)
        // What the queue says for destinations shows as a change of theirs.
        compare("queue.max_bytes", \.queue.bytesMax, isImmediate: true)
        compare("queue.max_age", \.queue.ageMax, isImmediate: true)
        compare("queue.dead_letter_age", \.queue.deadLetterAgeMax, isImmediate: true)
        compare("queue.max_streams", \.queue.streamsMax, isImmediate: true)
        compare("queue.durability", \.queue.durability)
        compare("queue.min_free_bytes", \.queue.freeBytesMin, isImmediate: true)
        compare("devices.keys", \.devices.keys, isImmediate: true)
        compare("devices.hmac", \.devices.hmac, isImmediate: true)
        compare("devices.jwt", \.devices.tokens, isImmediate: true)
        compare("devices.cors.origins", \.devices.origins, isImmediate: true)
        compare("devices.cors.headers", \.devices.corsHeaders, isImmediate: true)
        compare("devices.accept", \.devices.accepted, isImmediate: true)
        compare("devices.per_address", \.devices.perAddress, isImmediate: true)
        compare("devices.trusted_proxies", \.devices.proxies.ranges, isImmediate: true)
        compare("devices.proxy_protocol", \.devices.proxies.speaksProxy, isImmediate: true)
        compare("devices.duplicates", \.devices.duplicates)
        compare("limits", \.limits)
        compare("credentials.encryption_key", \.encryptionKey)
        compare("webhook", \.webhook, isImmediate: true)
        compare("log.format", \.log.format)
        compare("log.level", \.log.level, isImmediate: true)
        compare("drain_timeout", \.drainTimeout, isImmediate: true)
        return changes
    }

    private func credentialChanges(to new: GatewayConfiguration) -> [ConfigurationChange] {
        let kept = kept(under: new)
        return Set(credentials.keys).union(new.credentials.keys).sorted().compactMap { name in
            let users = kept.filter { $0.credential == name }.map(\.name)
            if new.credentials[name] == nil, !users.isEmpty {
                let plural = users.count == 1 ? "" : "s"
                return .init(
                    key: "credentials.\(name) (gone, but still used by destination\(plural) "
                        + "\(users.joined(separator: " and ")))",
                    isImmediate: false
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
            case (let before?, let after?):
                changes += before.keysChanged(to: after).map {
                    .init(key: "\(key).\($0)", isImmediate: true)
                }
            case (nil, _): changes.append(.init(key: "\(key) (new)", isImmediate: false))
            case (_, nil): changes.append(.init(key: "\(key) (gone)", isImmediate: false))
            }
        }
        return changes
    }

    /// Takes over what takes effect at once.
    package mutating func apply(_ new: GatewayConfiguration) {
        if let token = new.admin.token { admin.token = token }
        let durability = queue.durability
        queue = new.queue
        // It belongs to the connection that is open.
        queue.durability = durability
        admin.tokens = new.admin.tokens
        devices.keys = new.devices.keys
        devices.hmac = new.devices.hmac
        devices.tokens = new.devices.tokens
        devices.origins = new.devices.origins
        devices.corsHeaders = new.devices.corsHeaders
        devices.accepted = new.devices.accepted
        devices.perAddress = new.devices.perAddress
        devices.proxies = new.devices.proxies
        webhook = new.webhook
        if admin.tls != nil, let tls = new.admin.tls { admin.tls = tls }
        if let new = new.tls { tls?.settings = new.settings }
        admin.client = new.admin.client
        log.level = new.log.level
        drainTimeout = new.drainTimeout
        let kept = Set(kept(under: new).map(\.credential))
        // One that is gone stays for the destinations that still use it.
        credentials = new.credentials.merging(credentials.filter { kept.contains($0.key) }) {
            new,
            _ in new
        }
        for index in destinations.indices {
            if let after = new.destination(destinations[index].name) {
                destinations[index] = after
            } else {
                destinations[index].isRemoved = true
            }
        }
    }

    /// Destinations that go on as they are, because the new configuration knows nothing of them.
    private func kept(under new: GatewayConfiguration) -> [Destination] {
        destinations.filter { new.destination($0.name) == nil }
    }

    private func destination(_ name: String) -> Destination? {
        destinations.first { $0.name == name }
    }
}
