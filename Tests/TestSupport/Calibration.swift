import System

extension Duration {
    /// This limit on an idle machine, multiplied by how much slower this machine is now. Measure it
    /// right after the work that the limit is for, so that a verdict does not depend on the machine
    /// or on the work beside it.
    package func calibrated() -> Duration { self * max(1, FixedWork.slowness()) }
}

/// A fixed piece of work: threads that start, wake each other and compute.
private enum FixedWork {
    /// How long it takes in a debug build on two idle cores of an Intel Xeon.
    private static let usual: Duration = .milliseconds(12)
    private static let tries = 3

    /// The slowest try, as a multiple of the usual time.
    static func slowness() -> Double { (0..<tries).map { _ in once() / usual }.max() ?? 1 }

    private static func once() -> Duration {
        let start = Moment.now
        for _ in 0..<4 { _ = try? Worker("calibration") { _ = sum() }.join() }
        return Moment.now - start
    }

    @inline(never)
    private static func sum() -> UInt64 {
        (0..<20_000 as Range<UInt64>).reduce(1469598103934665603) { ($0 ^ $1) &* 1099511628211 }
    }
}
