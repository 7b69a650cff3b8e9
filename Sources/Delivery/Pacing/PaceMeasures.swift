import Glibc
import System

// What a pace measures: the usual request, what a server took, and what that tells of its rate.

/// The units of a request, and the time until its answer, lately.
struct UsualRequest: Equatable {
    private(set) var units = 0.0
    /// In seconds.
    private(set) var latency = 0.0

    mutating func sent(_ units: Double) {
        self.units += (units - self.units) * (self.units == 0 ? 1 : 0.05)
    }

    mutating func answered(after latency: Double) {
        self.latency += (latency - self.latency) * (self.latency == 0 ? 1 : 0.2)
    }
}

/// The requests that the server took since a refusal.
struct TakenTally: Equatable {
    var began: Moment
    var units = 0.0
    var requests = 0
    /// How much of the time nothing waited for the pace, in seconds.
    var idle = 0.0
}

/// The requests that the server took, since the last refusal and within the last second.
struct TakenRequests: Equatable {
    var tally = TakenTally(began: Moment(nanoseconds: 0))
    /// Over how many seconds the rate was measured.
    var measured = 0.0
    private var units = RecentSum()
    private var requests = RecentSum()

    /// Requests of a free pace are counted by the second as well: there may be no refusal to count
    /// from.
    mutating func stored(_ units: Double, isPaced: Bool, _ now: Moment) {
        tally.units += units
        tally.requests += 1
        guard !isPaced else { return }
        self.units.add(units, now)
        requests.add(1, now)
    }

    mutating func recentUnits(_ now: Moment) -> Double { units.sum(now) }
    mutating func recentRequests(_ now: Moment) -> Double { requests.sum(now) }

    /// The pace is free again.
    mutating func forget() {
        units = RecentSum()
        requests = RecentSum()
        measured = 0
    }
}

/// The sum of about the last second.
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

/// The rate of a server, from the requests that it took between refusals.
///
/// At a refusal its account is empty, whatever it saves up in between. So what it took from one
/// refusal to the next, divided by the time, is its rate: exact but for one request, and too low
/// only when it could not save up any more.
struct PaceEstimate: Equatable {
    private var units = 0.0
    private var seconds = 0.0

    var rate: Double? { seconds > 0 && units > 0 ? units / seconds : nil }

    /// Adds what lies between two refusals; what is older than some `memory` fades.
    mutating func add(_ units: Double, in seconds: Double, memory: Double) {
        let weight = exp(-seconds / memory)
        self.units = self.units * weight + units
        self.seconds = self.seconds * weight + seconds
    }
}
