import JSON
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
        return SLSRefusal.forbidden(code, message)
    }

    enum What { case requests, bytes }
}

struct RateLimits: Sendable {
    struct Entry: Sendable {
        let limit: RateLimit
        var requests: TokenBucket?
        var bytes: TokenBucket?
    }

    private(set) var entries: [Entry] = []
    let capacity: Int

    /// Sets or replaces the limit of a project and logstore. False: there are too many.
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

    /// May overdraw, so that more than a second's amount can pass; the debt delays later writes.
    mutating func take(_ amount: Double, at moment: Moment) -> Bool {
        let elapsed = Double(max(0, moment.nanoseconds - filled.nanoseconds)) / 1e9
        level = min(max(1, rate), level + elapsed * rate)
        filled = moment
        guard level >= min(amount, 1) else { return false }
        level -= amount
        return true
    }
}

extension Sandbox {
    func listLimits() -> Answer {
        let limits = state.withLock { $0.rateLimits.entries.map(\.limit) }
        return .json { json in
            json.objects("limits", limits) { json, limit in Self.write(limit, to: &json) }
        }
    }

    private static func write(_ limit: RateLimit, to json: inout JSONWriter) {
        if let project = limit.project { json.member("project", project) }
        if let logstore = limit.logstore { json.member("logstore", logstore) }
        if let rate = limit.requestsPerSecond {
            json.member("requests_per_second", number: "\(rate)")
        }
        if let rate = limit.bytesPerSecond { json.member("bytes_per_second", number: "\(rate)") }
        json.member("code", limit.code)
    }

    func setLimit(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(request.body)
        let project = try fields.text("project")
        let logstore = try fields.text("logstore")
        let requests = try fields.number("requests_per_second", in: 0...1_000_000)
        let bytes = try fields.number("bytes_per_second", in: 0...1e12)
        let code = try fields.text("code")
        try fields.refuseUnknown()
        guard requests != nil || bytes != nil else {
            throw .badParameter("Give requests_per_second or bytes_per_second.")
        }
        // SLS counts a project's writes, and the rates of each shard.
        let usual = logstore == nil ? "WriteQuotaExceed" : "ShardWriteQuotaExceed"
        guard code == nil || KnownCode.statuses[code ?? ""] == 403 else {
            throw .badParameter("code must be WriteQuotaExceed or ShardWriteQuotaExceed.")
        }
        let limit = RateLimit(
            project: project,
            logstore: logstore,
            requestsPerSecond: requests,
            bytesPerSecond: bytes,
            code: code ?? usual
        )
        let moment = configuration.moment()
        guard state.withLock({ $0.rateLimits.set(limit, at: moment) }) else {
            throw .badParameter(
                "\(configuration.capacity.rateLimitsMax) limits are set: remove some first."
            )
        }
        return listLimits()
    }

    func removeLimits(_ request: ReceivedRequest) -> Answer {
        let project = request.parameter("project")
        let logstore = request.parameter("logstore")
        state.withLock { state in
            if project == nil, logstore == nil {
                state.rateLimits.removeAll()
            } else {
                state.rateLimits.remove(project: project, logstore: logstore)
            }
        }
        return listLimits()
    }
}
