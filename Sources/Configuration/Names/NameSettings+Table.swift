import Resolvers
import System

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
            "how long addresses are used after their time if no resolver answers; also after a "
            "restart, because they are kept in the data directory"
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
        Setting("resolvers", \.resolvers, .map(of: ResolverEntry.self)) {
            "where addresses of hosts come from, see [names](names.md)"
        } read: {
            ResolverEntry.readAll(&$0)
        }
    }
}

extension Section {
    /// The names of resolvers, which must exist.
    fileprivate mutating func resolvers(_ key: String) -> [String]? {
        guard let names = list(key, .keyName, counts: 1...8) else { return nil }
        let known = report.resolverNames.sorted() + [NameSettings.system]
        for name in names where !known.contains(name) {
            let hint = nearMiss(name, among: known).map { "; did you mean \($0)?" } ?? ""
            problem(key, "there is no resolver named \(name)\(hint)")
        }
        if Set(names).count < names.count { problem(key, "names a resolver twice; keep one") }
        return names == [NameSettings.system] ? [] : names
    }

    fileprivate mutating func resolverRules(_ key: String) -> ResolverRules? {
        guard case .mapping = entries[key]?.value.content else {
            return resolvers(key).map { ResolverRules($0) }
        }
        var group = section(key)
        var rules: ResolverRules = []
        for name in group.names {
            let host = HostName.canonical(name)
            let names = group.resolvers(name) ?? []
            if name == "default" {
                rules.general = names
            } else if HostName.isValid(host.hasPrefix("*.") ? String(host.dropFirst(2)) : host) {
                rules.byHost[host] = NameSettings.orSystem(names)
            } else {
                group.problem(name, "is not a host, a wildcard such as *.example.com, or default")
            }
        }
        problem(key, if: rules.byHost.count > 64) {
            "has \(rules.byHost.count) hosts; at most 64 are allowed; join some with a wildcard"
        }
        group.refuseOthers()
        return rules
    }
}

extension Setting where Group: SettingGroup {
    /// The row `resolve`. An empty list is the system alone, without the cache.
    static func resolve(_ path: WritableKeyPath<Group, ResolverRules>) -> Setting {
        func shown(_ names: [String]) -> SettingValue {
            .list(NameSettings.orSystem(names).map { .text($0) })
        }
        return Setting(
            "resolve",
            path,
            .shaped(
                "a list of resolvers, or such lists under hosts",
                .listOrLists(of: Kind<String>.keyName.shape, count: 1...8)
            ),
            show: { group in
                let rules = group[keyPath: path]
                guard !rules.byHost.isEmpty else { return shown(rules.general) }
                let named = rules.byHost.sorted { $0.key < $1.key }.map { ($0, shown($1)) }
                return .group(named + [("default", shown(rules.general))])
            }
        ) {
            "the [resolvers](names.md) to ask for the host's addresses, in order; `system` is "
            #"always the last resort. Or [lists by host](names.md#by-host): `"*.example.com": "#
            "[ali]` and `default`. No resolver is asked behind a proxy"
        } read: {
            $0.resolverRules("resolve")
        }
        .default("`system`")
    }
}
