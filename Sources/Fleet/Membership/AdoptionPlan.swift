import System

/// Which shards a gateway tries to adopt or absorb, and when. A value without a clock.
struct AdoptionPlan {
    private static let failuresMax = 10

    private let timing: FleetTiming
    /// When orphans are tried.
    private var due: [String: Moment] = [:]
    /// Shards that are left alone until then.
    private var heldOff: [String: Moment] = [:]
    /// How often each shard could not be adopted, one time after the other.
    private var failures: [String: Int] = [:]

    init(_ timing: FleetTiming) {
        self.timing = timing
    }

    /// Forgets shards that are not among `shards`, and tries for shards that are no orphans.
    mutating func update(_ orphans: [String], among shards: Set<String>, _ now: Moment) {
        failures = failures.filter { shards.contains($0.key) }
        heldOff = heldOff.filter { $0.value > now }
        due = due.filter { orphans.contains($0.key) && heldOff[$0.key] == nil }
    }

    // MARK: - Tries

    /// An orphan for which nothing is planned yet.
    func isNew(_ orphan: String) -> Bool { due[orphan] == nil && heldOff[orphan] == nil }

    /// Rivals wait at random, and longer the more shards they have adopted.
    mutating func schedule(_ orphan: String, after adopted: Int, _ now: Moment) {
        due[orphan] = now + timing.rivalWait * (1 + adopted) * Double.random(in: 0...1)
    }

    /// The time of the next try; nil: none is planned.
    var next: Moment? { due.values.min() }

    mutating func takeDue(_ now: Moment) -> String? {
        guard let first = due.min(by: { $0.value < $1.value }), first.value <= now else {
            return nil
        }
        due[first.key] = nil
        return first.key
    }

    // MARK: - Pauses

    /// `update` ends pauses that are over.
    func isHeldOff(_ shard: String) -> Bool { heldOff[shard] != nil }

    mutating func holdOff(_ shard: String, for time: Duration, _ now: Moment) {
        heldOff[shard] = now + time
    }

    /// Returns when the next try is worth it, later each time: it reads the log again.
    mutating func failed(_ shard: String) -> Duration {
        let count = failures[shard, default: 0]
        failures[shard] = min(count + 1, Self.failuresMax)
        return min(timing.retry * (1 << count), timing.retryMax)
    }

    mutating func succeeded(_ shard: String) { failures[shard] = nil }
}
