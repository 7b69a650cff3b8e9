import System

/// What came within about the last second.
struct RecentSum: Equatable {
    private static let slots = 8
    private static let slotNanoseconds: Int64 = 125_000_000

    private var sums: [8 of Double] = .init(repeating: 0)
    private var latest: Int64 = 0

    static func == (left: RecentSum, right: RecentSum) -> Bool {
        left.latest == right.latest
            && left.sums.indices.allSatisfy { left.sums[$0] == right.sums[$0] }
    }

    mutating func add(_ units: Double, _ now: Moment) {
        move(to: now)
        sums[Int(latest % Int64(Self.slots))] += units
    }

    mutating func sum(_ now: Moment) -> Double {
        move(to: now)
        return sums.indices.reduce(0) { $0 + sums[$1] }
    }

    private mutating func move(to now: Moment) {
        let slot = max(latest, now.nanoseconds / Self.slotNanoseconds)
        let passed = min(slot - latest, Int64(Self.slots))
        for step in 0..<passed { sums[Int((slot - step) % Int64(Self.slots))] = 0 }
        latest = slot
    }
}
