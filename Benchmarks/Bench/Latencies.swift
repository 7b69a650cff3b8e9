/// How long requests took: counts in buckets of less than 1 % of the time, so that ten minutes take
/// a few KiB.
struct Latencies {
    /// Below this many microseconds each has its own bucket; each further doubling has half as
    /// many.
    private static let exact = 256

    private var counts = [Int](repeating: 0, count: exact * 32)
    private(set) var count = 0
    private(set) var longest: Duration = .zero

    mutating func add(_ time: Duration) {
        counts[Self.bucket(of: max(0, Int(time / .microseconds(1))))] += 1
        count += 1
        longest = max(longest, time)
    }

    /// The time within which this share was answered.
    func milliseconds(of share: Double) -> Double {
        guard count > 0 else { return 0 }
        var left = Int((share * Double(count)).rounded(.up))
        for (bucket, count) in counts.enumerated() {
            left -= count
            if left <= 0 { return Double(Self.end(of: bucket)) / 1000 }
        }
        return longest / .milliseconds(1)
    }

    private static func bucket(of microseconds: Int) -> Int {
        guard microseconds >= exact else { return microseconds }
        let shift = exact.leadingZeroBitCount - microseconds.leadingZeroBitCount + 1
        return min(exact / 2 * shift + microseconds >> shift, exact * 32 - 1)
    }

    /// The first microsecond behind a bucket.
    private static func end(of bucket: Int) -> Int {
        guard bucket >= exact else { return bucket + 1 }
        let shift = bucket / (exact / 2) - 1
        return (bucket - exact / 2 * shift + 1) << shift
    }
}
