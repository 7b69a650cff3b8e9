import HTTP
import Logs
import Net
import SQLite
import System

/// The SLS look-alike without its sockets: requests in, answers out.
final class Sandbox: Sendable {
    let configuration: SandboxConfiguration
    let journal: Journal
    let state: Locked<SandboxState>
    let late: LateAnswers

    init(_ configuration: SandboxConfiguration, journal: Journal) throws {
        self.configuration = configuration
        self.journal = journal
        late = try LateAnswers(capacity: configuration.capacity.lateAnswersMax)
        state = Locked(try SandboxState(configuration))
    }

    func deliver(_ answer: Answer, to responder: Responder) {
        late.deliver(answer, to: responder)
        guard case .whenReleased(let fault) = answer.delivery else { return }
        // The fault may be gone already, and then nothing else would release the answer.
        let isActive = state.withLock { $0.faults.entries.contains { $0.id == fault } }
        if !isActive { late.release(fault: fault) }
    }

    /// The inflater belongs to the calling thread.
    func answer(_ request: ReceivedRequest, inflater: Inflater) -> Answer {
        if Self.isControl(request.path) { return answerControl(request) }
        if let accounts = configuration.resolver, let call = ResolverCall(path: request.path) {
            return resolve(call, accounts, request)
        }
        let route = SandboxRoute(path: request.path)
        let target = Fault.Target.sls(project: try? request.project(), logstore: route?.logstore)
        let visit = begin(target, bodyBytes: request.body.count)
        return answer(visit) { () throws(SLSRefusal) in
            try carryOut(route, request, visit, inflater: inflater)
        }
    }

    func answer(to problem: RequestProblem) -> Response {
        let refusal =
            switch problem.status {
            case 413:
                SLSRefusal.tooLarge(
                    "Body size must little than \(configuration.limits.rawBytesMax)."
                )
            case 408: SLSRefusal(408, "RequestTimeout", problem.reason)
            case 503: SLSRefusal(503, "ServerBusy", problem.reason)
            default: SLSRefusal(problem.status, "ParameterInvalid", problem.reason)
            }
        return refuse(refusal)
    }

    func refuse(_ refusal: SLSRefusal) -> Response {
        answer(begin(nil, bodyBytes: 0)) { () throws(SLSRefusal) in throw refusal }.response
    }

    // MARK: - One request to SLS

    /// Facts that are fixed before a request is examined.
    struct Visit: Sendable {
        let requestID: String
        let now: WallTime
        let mishap: Mishap
        /// The resolver that was asked; nil for SLS.
        let resolver: ResolverService?
    }

    /// Applies the faults that concern this kind of request; nil for one that could not be read.
    func begin(_ target: Fault.Target?, bodyBytes: Int) -> Visit {
        let clock = configuration.clock()
        return state.withLock { state in
            state.statistics.requests += 1
            state.statistics.wireBytes += bodyBytes
            let mishap =
                target.map { state.faults.applyFaults(to: $0, random: &state.random) } ?? Mishap()
            let now = clock + mishap.clockOffset
            return Visit(
                requestID: state.random.requestID(at: now),
                now: now,
                mishap: mishap,
                resolver: target?.resolver
            )
        }
    }

    private func carryOut(
        _ route: SandboxRoute?,
        _ request: ReceivedRequest,
        _ visit: Visit,
        inflater: Inflater
    ) throws(SLSRefusal) -> AnswerContent {
        guard let route else {
            throw .notFound(
                "InvalidPath",
                "The sandbox has no \(request.path.prefix(100)); it has /logstores/{logstore}/"
                    + "shards/lb, /shards/route and /track, /servertime, /logs, /stats, /faults, "
                    + "/limits, /keys and /poisons."
            )
        }
        switch (route, request.method) {
        case (.serverTime, "GET"): break
        case (.put(let logstore, let isRouted), "POST"):
            try put(request, in: logstore, isRouted: isRouted, visit, inflater: inflater)
        case (.logstore(let logstore), "POST"):
            try put(request, in: logstore, isRouted: false, visit, inflater: inflater)
        case (.track(let logstore), "POST"):
            try track(request, in: logstore, visit, inflater: inflater)
        case (.logstores, "GET"), (.logstore, "GET"):
            return try describe(route, request, visit)
        default:
            throw .badMethod("InvalidMethod", "\(request.method) is not allowed here.")
        }
        return .empty
    }

    /// Carries a request out, unless a fault forbids it, and turns the outcome into its answer,
    /// with the effects of all faults.
    func answer(
        _ visit: Visit,
        carryOut: () throws(SLSRefusal) -> AnswerContent
    ) -> Answer {
        let mishap = visit.mishap
        let outcome = Result { () throws(SLSRefusal) in
            try mishap.isCarriedOut ? carryOut() : .empty
        }
        var response: Response
        var code: String?
        switch (mishap.answer, outcome) {
        case (.page(let status, let type, let body), _):
            response = Response(status: status, contentType: type, text: body)
        case (.refusal(let refusal), _), (_, .failure(let refusal)):
            code = refusal.code
            response = Response(
                status: refusal.status,
                contentType: "application/json",
                body: visit.resolver.map(refusal.body(for:)) ?? refusal.body
            )
        case (_, .success(let content)):
            response = Response(status: 200, body: content.body)
            if !content.body.isEmpty {
                response.fields.append(("content-type", content.type))
            }
        }
        if mishap.padding > 0 { response.body += repeatElement(0x20, count: mishap.padding) }
        stamp(&response, visit)
        breakOff(&response, mishap.answer)
        count(response.status, code, mishap)
        let delivery: Answer.Delivery =
            if let holder = mishap.holder {
                .whenReleased(holder)
            } else if mishap.latency > .zero {
                .after(mishap.latency)
            } else {
                .now
            }
        return Answer(response: response, delivery: delivery)
    }

    private func stamp(_ response: inout Response, _ visit: Visit) {
        response.fields.append(("server", "sluice-sandbox"))
        response.fields.append(("date", visit.now.httpDate))
        response.fields.append(("access-control-allow-origin", "*"))
        if visit.resolver == nil {
            response.fields.append(("x-log-time", "\(visit.now.seconds)"))
        }
        if let wait = visit.mishap.retryAfter {
            response.fields.append(("retry-after", "\(wait.components.seconds)"))
        }
        guard visit.resolver == nil, !visit.mishap.withoutRequestID else { return }
        // A captive portal sends no request id.
        if case .page = visit.mishap.answer { return }
        response.fields.append(("x-log-requestid", visit.requestID))
    }

    private func breakOff(_ response: inout Response, _ answer: Fault.Answer?) {
        switch answer {
        case .reset: response.breaks = .beforeAnswer
        case .truncate:
            // A success has an empty body, which cannot be cut.
            if response.body.isEmpty { response.body = [UInt8](repeating: 0x20, count: 64) }
            response.breaks = .afterBody(bytes: response.body.count / 2)
        default: break
        }
    }

    private func count(_ status: Int, _ code: String?, _ mishap: Mishap) {
        state.withLock { state in
            switch mishap.answer {
            case .reset: break
            default: state.statistics.countAnswer(status, error: code)
            }
            if let answer = mishap.answer { state.statistics.countMishap(answer.name) }
            if mishap.latency > .zero { state.statistics.countMishap("latency") }
            if mishap.clockOffset != .zero { state.statistics.countMishap("clock_offset") }
            if mishap.withoutRequestID { state.statistics.countMishap("without_request_id") }
        }
    }
}

/// The sandbox's mutable state, behind one lock.
struct SandboxState: ~Copyable {
    var archive: LogArchive
    var faults: FaultPlan
    var rateLimits: RateLimits
    var keys: KeyRing
    var poisons: Poisons
    var zone: ResolverZone
    var statistics: Statistics
    var random: SeededRandom
    var hasToldOfDrops = false

    init(_ configuration: SandboxConfiguration) throws(SQLiteError) {
        let capacity = configuration.capacity
        archive = try LogArchive(path: configuration.storage, capacity: capacity)
        zone = ResolverZone(usual: configuration.resolver?.address ?? IPAddress(v4: 0x7f00_0001))
        faults = FaultPlan(capacity: capacity.faultsMax)
        rateLimits = RateLimits(capacity: capacity.rateLimitsMax)
        keys = KeyRing(configuration.keys, capacity: capacity.keysMax)
        poisons = Poisons(capacity: capacity.poisonsMax)
        statistics = Statistics(since: configuration.clock())
        random = SeededRandom(seed: configuration.seed)
    }
}

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
