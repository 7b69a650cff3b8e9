import System

/// How much a logstore or a project takes in a second before it refuses.
struct RateLimit: Sendable, Equatable {
    /// Nil stands for all of them together.
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

/// The limits that are set, each with what is left of its second.
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

    /// Sets a limit, in place of the one for the same project and logstore; false when there are too
    /// many.
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

    /// Counts one write.
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

/// Fills at a steady rate and holds what one second brings.
struct TokenBucket: Sendable {
    private let rate: Double
    private var level: Double
    private var filled: Moment

    init(rate: Double, at moment: Moment) {
        self.rate = rate
        level = max(1, rate)
        filled = moment
    }

    /// Takes when anything is left: what is taken may be more, and is then owed, or nothing larger
    /// than a second's rate would ever pass.
    mutating func take(_ amount: Double, at moment: Moment) -> Bool {
        let elapsed = Double(max(0, moment.nanoseconds - filled.nanoseconds)) / 1e9
        level = min(max(1, rate), level + elapsed * rate)
        filled = moment
        guard level >= min(amount, 1) else { return false }
        level -= amount
        return true
    }
}
