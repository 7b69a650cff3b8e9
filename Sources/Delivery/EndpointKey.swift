import SLS

/// How a region is reached. What fails on the way there fails for everybody who goes it, and the clock
/// at its end is the same, so gates and clocks are kept by way.
struct EndpointKey: Hashable {
    let endpoint: Endpoint
    let proxy: Proxy?

    /// Whether nobody else can read or answer what goes there, encrypted or not. What a proxy takes for
    /// its own machine is another one.
    var staysHere: Bool { endpoint.isLoopback && proxy == nil }
}
