package import Net

extension ListenAddress {
    /// Whether only this machine can reach it.
    var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }

    /// Whether the kernel would refuse one of the two.
    func excludes(_ other: ListenAddress) -> Bool {
        guard port != 0, port == other.port else { return false }
        return host == other.host || isWildcard || other.isWildcard
    }

    /// What to say when it does.
    func takesPort(of otherKey: String, _ other: ListenAddress) -> String {
        "\(self) takes the port of \(otherKey) (\(other)); give one of them another"
    }

    private var isWildcard: Bool { host == "0.0.0.0" || host == "::" }

    /// An address that somebody on this machine can use.
    package var reachable: ListenAddress {
        // Which family a socket for all addresses is of, its own kernel decides; v4 reaches it in
        // any case.
        if isEverywhere { return ListenAddress(host: "127.0.0.1", port: port) }
        return switch host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
