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

    /// Sends an answer at its time.
    func deliver(_ answer: Answer, to responder: Responder) {
        late.deliver(answer, to: responder)
        guard case .whenReleased(let fault) = answer.delivery else { return }
        // The fault may be gone since it took effect, and then nothing else would release the
        // answer.
        let isActive = state.withLock { $0.faults.entries.contains { $0.id == fault } }
        if !isActive { late.release(fault: fault) }
    }

    /// The inflater belongs to the calling thread.
    func answer(
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer,
        inflater: Inflater
    ) -> Answer {
        if let control = ControlRoute(path: request.path) {
            return answer(control, request, body: body)
        }
        if let accounts = configuration.resolver, let call = ResolverCall(path: request.path) {
            return resolve(call, accounts, request, body: body)
        }
        let route = SandboxRoute(path: request.path)
        let project = try? request.project()
        var visit = begin(.sls(project: project, logstore: route?.logstore), bodyBytes: body.count)
        visit.route = route
        guard visit.mishap.isCarriedOut else { return finish(visit, .success(.empty)) }
        return finish(visit, carryOut(request, body: body, inflater: inflater, visit))
    }

    /// The answer to a request that could not be read.
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
        let visit = begin(nil, bodyBytes: 0)
        return finish(visit, .failure(refusal)).response
    }

    // MARK: - One request to SLS

    /// Facts that are fixed before a request is examined.
    struct Visit: Sendable {
        let requestID: String
        let now: WallTime
        let mishap: Mishap
        /// The route's name in the statistics of faults.
        var route: SandboxRoute?
        /// The resolver that was asked; nil for SLS.
        var resolver: ResolverService?
    }

    /// Applies the faults that concern this kind of request; nil for one that could not be read.
    func begin(_ target: Fault.Target?, bodyBytes: Int) -> Visit {
        let clock = configuration.clock()
        return state.withLock { state in
            state.statistics.requests += 1
            state.statistics.wireBytes += bodyBytes
            let mishap =
                target.map { state.faults.applyFaults(to: $0, random: &state.random) } ?? Mishap()
            let (seconds, attoseconds) = mishap.clockOffset.components
            let offset = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
            let now = WallTime(nanoseconds: clock.nanoseconds + offset)
            return Visit(
                requestID: state.random.requestID(at: now),
                now: now,
                mishap: mishap,
                resolver: target?.resolver
            )
        }
    }

    private func carryOut(
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer,
        inflater: Inflater,
        _ visit: Visit
    ) -> Result<AnswerContent, SLSRefusal> {
        do throws(SLSRefusal) {
            guard let route = visit.route else {
                throw SLSRefusal(
                    404,
                    "InvalidPath",
                    "The sandbox has no \(request.path.prefix(100)); it has /logstores/{logstore}/"
                        + "shards/lb, /shards/route and /track, /servertime, /logs, /stats, /faults, "
                        + "/limits, /keys and /poisons."
                )
            }
            switch (route, request.method) {
            case (.serverTime, "GET"): return .success(.empty)
            case (.put(let logstore, let routed), "POST"):
                let write = SignedWrite(logstore: logstore, isRouted: routed, visit: visit)
                try carryOut(write, request, body: body, inflater: inflater)
            case (.logstore(let logstore), "POST"):
                let write = SignedWrite(logstore: logstore, isRouted: false, visit: visit)
                try carryOut(write, request, body: body, inflater: inflater)
            case (.track(let logstore), "POST"):
                try track(logstore, request, body: body, inflater: inflater, visit)
            case (.logstores, "GET"), (.logstore, "GET"):
                return .success(try describe(route, request, body: body, visit))
            default:
                throw SLSRefusal(405, "InvalidMethod", "\(request.method) is not allowed here.")
            }
            return .success(.empty)
        } catch {
            return .failure(error)
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
