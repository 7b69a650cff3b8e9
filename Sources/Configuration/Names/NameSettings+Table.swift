import Resolvers

/// The group `names`: the cache of what resolvers answer.
extension NameSettings: SettingGroup {
    static var settings: [Setting<NameSettings>] {
        Setting("ttl_min", \.ttlMin, .duration(.seconds(1) ... .seconds(3600))) {
            "answers hold at least so long, whatever their TTL"
        }
        Setting("ttl_max", \.ttlMax, .duration(.seconds(10) ... .seconds(86_400))) {
            "and at most so long"
        }
        Setting("max_stale", \.maxStale, .duration(.zero ... .seconds(7 * 86_400))) {
            """
            how long addresses are used after their time if no resolver answers; also after a restart, \
            because they are kept in the data directory
            """
        }
        Setting("timeout", \.timeout, .duration(.milliseconds(100) ... .seconds(30))) {
            "for one try to ask one server"
        }
        Setting("patience", \.patience, .duration(.milliseconds(50) ... .seconds(10))) {
            "if a host has no address, the next resolver is asked after so long without an answer"
        }
        Setting("max_hosts", \.maxHosts, .count(1...NameSettings.hostsLimit)) {
            "hosts in the cache; the system resolves what goes beyond"
        }
    }

    func check(_ section: borrowing Section) {
        if ttlMin > ttlMax {
            section.problem("ttl_min", "is longer than names.ttl_max; make it shorter")
        }
    }

    /// The row `resolvers` of the file.
    static var resolversSetting: Setting<NameSettings> {
        Setting(
            SettingDescription(
                key: "resolvers",
                help: "where addresses of hosts come from, see [names](names.md)",
                members: ResolverEntry.descriptions,
                isMap: true
            ),
            \.resolvers,
            ResolverEntry.readAll
        )
    }
}

extension Section {
    /// Checks that the resolvers exist that a list names.
    func checkResolvers(_ key: String, _ names: [String]) {
        let known = report.resolverNames.sorted() + [NameSettings.system]
        for name in names where !known.contains(name) {
            let hint = nearMiss(name, among: known).map { "; did you mean \($0)?" } ?? ""
            problem(key, "there is no resolver named \(name)\(hint)")
        }
        if Set(names).count < names.count { problem(key, "names a resolver twice; keep one") }
    }
}

extension Setting where Group: SettingGroup {
    /// `resolve` of whatever asks over the network. An empty list is the system alone, without the cache.
    static func resolve(_ path: WritableKeyPath<Group, [String]>) -> Setting {
        Setting(
            "resolve",
            path,
            listOf: .keyName,
            1...8,
            default: "`system`",
            as: { $0 == [NameSettings.system] ? [] : $0 },
            shownAs: { $0.isEmpty ? [NameSettings.system] : $0 }
        ) {
            """
            the [resolvers](names.md) to ask for the host's addresses, in order; `system` is always the last \
            resort. No resolver is asked behind a proxy
            """
        }
    }
}
