import System

/// A repeatable random generator: SplitMix64.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Unpredictable without a seed.
    init(seed: UInt64?) {
        state = seed ?? randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but not including 1.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(UInt64(1) << 53) }

    /// 24 upper-case hexadecimal digits that begin with the time, like SLS's.
    mutating func requestID(at time: WallTime) -> String {
        let seconds = UInt32(truncatingIfNeeded: time.seconds).bigEndian
        let rest = next().bigEndian
        var bytes = withUnsafeBytes(of: seconds, Array.init)
        bytes += withUnsafeBytes(of: rest, Array.init)
        return hex(bytes, upper: true)
    }
}
