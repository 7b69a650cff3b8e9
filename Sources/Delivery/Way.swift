import SLS

/// How a region is reached. What fails on the way there fails for everybody who goes it, and the clock
/// at its end is the same, so gates and clocks are kept by way.
struct Way: Hashable {
    let endpoint: Endpoint
    let proxy: Proxy?
}
