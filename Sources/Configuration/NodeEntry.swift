import System

/// The settings that tell gateways apart in a commit log; each engine's group has them among its own.
struct NodeEntry: SettingGroup, Equatable, Sendable {
    var cluster = "main"
    /// nil: the host has no name.
    var name = machineName().flatMap(name(ofHost:))

    static var settings: [Setting<NodeEntry>] {
        Setting("cluster", \.cluster, .namePart(upTo: 32), reload: .atRestart) {
            """
            the name of the cluster of gateways, as several may share the servers; up to 32 letters, \
            digits, `-` and `_`
            """
        }
        Setting(
            "node",
            \.name,
            .namePart(
                upTo: 64,
                "; without the setting it is the host's name, with '_' for other characters"
            ),
            default: "the host's name, with `_` for other characters",
            reload: .atRestart
        ) {
            """
            the name of this gateway. Each of the cluster has another one and keeps it across restarts; \
            up to 64 letters, digits, `-` and `_`
            """
        }
    }

    /// A host's name as a node's. Names of streams contain it, and NATS allows no dots there. nil: the name is empty.
    static func name(ofHost host: String) -> String? {
        let name = String(host.map { $0.isOfNamePart ? $0 : "_" }.prefix(64))
        return name.isEmpty ? nil : name
    }
}

extension Kind<String> {
    /// A part of the name that a commit log has on its servers.
    fileprivate static func namePart(upTo charactersMax: Int, _ remedy: String = "") -> Kind {
        Kind(
            wants: "a name",
            .text(pattern: "^[A-Za-z0-9_-]{1,\(charactersMax)}$"),
            show: { .text($0) }
        ) { text throws(Mismatch) in
            guard (1...charactersMax).contains(text.utf8.count), text.allSatisfy(\.isOfNamePart)
            else {
                throw Mismatch(
                    "\(quoted(text)) is not 1 to \(charactersMax) letters, digits, '-' and '_'\(remedy)"
                )
            }
            return text
        }
    }
}

extension Character {
    fileprivate var isOfNamePart: Bool {
        isASCII && (isLetter || isNumber || self == "-" || self == "_")
    }
}
