import SLS

/// An endpoint and the proxy that leads to it. A failure there concerns every destination that uses both, and the
/// clock behind them is the same, so gates and clocks are kept by this key.
struct EndpointKey: Hashable {
    let endpoint: Endpoint
    let proxy: Proxy?

    /// True when requests never leave this machine, so encryption protects nothing. A proxy counts as another machine.
    var staysHere: Bool { endpoint.isLoopback && proxy == nil }
}
