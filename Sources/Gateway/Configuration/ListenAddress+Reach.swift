import Net

extension ListenAddress {
    /// Whether only this machine can reach it.
    var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }

    /// Whether the kernel would refuse one of the two.
    func excludes(_ other: ListenAddress) -> Bool {
        guard port != 0, port == other.port else { return false }
        return host == other.host || isWildcard || other.isWildcard
    }

    private var isWildcard: Bool { host == "0.0.0.0" || host == "::" }
}
