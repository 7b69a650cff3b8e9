import System

/// The rate that a logstore or a project accepts before it refuses.
struct RateLimit: Sendable, Equatable {
    /// nil means all projects together.
    var project: String?
    var logstore: String?
    var requestsPerSecond: Double?
    var bytesPerSecond: Double?
    /// `WriteQuotaExceed` or `ShardWriteQuotaExceed`.
    var code: String

    func concerns(_ project: String, _ logstore: String) -> Bool {
        (self.project == nil || self.project == project)
            && (self.logstore == nil || self.logstore == logstore)
    }

    func refusal(for what: What) -> SLSRefusal {
        let message =
            switch (code, what) {
            case ("ShardWriteQuotaExceed", .requests): "Write QPS Exceed"
            case ("ShardWriteQuotaExceed", .bytes): "Inflow Quota Exceed"
            case (_, .requests): "Project write quota exceed: qps"
            case (_, .bytes): "Project write quota exceed: inflow"
            }
        return SLSRefusal(403, code, message)
    }

    enum What { case requests, bytes }
}

/// The active limits, each with its remaining amount.
struct RateLimits: Sendable {
    struct Entry: Sendable {
        let limit: RateLimit
        var requests: TokenBucket?
        var bytes: TokenBucket?
    }

    private(set) var entries: [Entry] = []
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Sets a limit and replaces the one for the same project and logstore. Returns false when
    /// there are too many.
    mutating func set(_ limit: RateLimit, at moment: Moment) -> Bool {
        remove(project: limit.project, logstore: limit.logstore)
        guard entries.count < capacity else { return false }
        entries.append(
            Entry(
                limit: limit,
                requests: limit.requestsPerSecond.map { TokenBucket(rate: $0, at: moment) },
                bytes: limit.bytesPerSecond.map { TokenBucket(rate: $0, at: moment) }
            )
        )
        return true
    }

    mutating func remove(project: String?, logstore: String?) {
        entries.removeAll { $0.limit.project == project && $0.limit.logstore == logstore }
    }

    mutating func removeAll() { entries = [] }

    /// Counts one write against the limits that match.
    mutating func admit(
        _ project: String,
        _ logstore: String,
        bytes: Int,
        at moment: Moment
    ) throws(SLSRefusal) {
        for index in entries.indices where entries[index].limit.concerns(project, logstore) {
            let limit = entries[index].limit
            guard entries[index].requests?.take(1, at: moment) != false else {
                throw limit.refusal(for: .requests)
            }
            guard entries[index].bytes?.take(Double(bytes), at: moment) != false else {
                throw limit.refusal(for: .bytes)
            }
        }
    }
}

/// A token bucket that fills at a steady rate and holds one second's amount.
struct TokenBucket: Sendable {
    private let rate: Double
    private var level: Double
    private var filled: Moment

    init(rate: Double, at moment: Moment) {
        self.rate = rate
        level = max(1, rate)
        filled = moment
    }

    /// May overdraw; the debt delays later writes. Otherwise an amount above one second's rate
    /// would never pass.
    mutating func take(_ amount: Double, at moment: Moment) -> Bool {
        let elapsed = Double(max(0, moment.nanoseconds - filled.nanoseconds)) / 1e9
        level = min(max(1, rate), level + elapsed * rate)
        filled = moment
        guard level >= min(amount, 1) else { return false }
        level -= amount
        return true
    }
}
