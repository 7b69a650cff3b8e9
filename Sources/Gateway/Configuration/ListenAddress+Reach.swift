import Net

extension ListenAddress {
    /// Whether only this machine can reach it.
    var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }
}
