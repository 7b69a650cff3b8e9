package import Configuration
import Crypto
package import HTTP
import Logs
import Queue
import Routing
import System

/// Follows logs through filters and routes with the code that serves devices. Nothing is stored,
/// and nothing is counted in a running gateway.
package struct RouteTester {
    private let table: RoutingTable
    private let senders: [(name: String, rules: SenderRules)]
    private let decoder: BodyDecoder
    private let limits: LogLimits
    private let standsIn: Bool

    /// `makesHashes` false: `redact` with `hash` uses a random key, so that the hash of a known
    /// text tells nothing.
    package init(_ configuration: GatewayConfiguration, makesHashes: Bool) {
        var configuration = configuration
        standsIn = !makesHashes && configuration.routing.makesHashes
        if standsIn {
            let digits = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }
            configuration.routing.secret = Secret(digits.joined())
        }
        table = RoutingTable(configuration)
        senders = configuration.devices.senders
        decoder = BodyDecoder(configuration.limits)
        limits = configuration.limits.json
    }

    /// The bytes of the logs, times the steps of all filters, that one trial may have.
    static let workMax = 256 << 20
    private static let tooMuchWork = HTTPProblem(
        400,
        "ParameterInvalid",
        "the filters need more work for these logs than one trial may take; send fewer or shorter "
            + "logs, fewer conditions, shorter expressions, or steps that write less text"
    )

    package func findings(_ question: RouteQuestion) throws(HTTPProblem) -> RouteFindings {
        try checkWork(question)
        let sender = try question.key.map { name throws(HTTPProblem) in try senderRules(of: name) }
        let rights = SenderRights(destinations: sender?.destinations)
        let work = TrialWork()
        let trace = FilterTrace()
        var request = request(question, rights.limited(to: question.rights), work)
        request.trace = trace
        let dispatch = LogDispatch(limits, FilterCounters())
        var logs: [RouteFindings.Log] = []
        for (number, json) in (question.logs.isEmpty ? [Array("{}".utf8)] : question.logs)
            .enumerated()
        {
            let labels = question.labels(ofLog: number)
            let address: RoutingTable.Target
            do throws(Refusal) {
                address = try table.target(
                    host: question.host,
                    project: question.project,
                    labels.address
                )
            } catch {
                logs.append(RouteFindings.Log(tag: question.tag, refusal: error))
                continue
            }
            let decoded = try self.decoded(json, number, table.rules(for: address))
            let group = labels.group(decoded, address)
            logs.append(try follow(group, of: request, through: dispatch, trace))
            guard !work.isSpent else { throw Self.tooMuchWork }
        }
        let plan = dispatch.plans(table)?.plan(for: question.tag)
        let rules = table.router?.rules ?? RoutingRules()
        return RouteFindings(
            rules: rules,
            tag: question.tag,
            filters: plan?.filters ?? [],
            logs: logs,
            nearMisses: table.router?.nearMisses(question.tag) ?? [],
            notes: RouteFindings.notes(rules, logs, trace, standsIn: standsIn)
        )
    }

    private func checkWork(_ question: RouteQuestion) throws(HTTPProblem) {
        let steps = table.router?.rules.filters.reduce(0) { $0 + $1.steps.count } ?? 0
        let bytes = question.logs.reduce(0) { $0 + $1.count }
        guard bytes > Self.workMax / max(1, steps) else { return }
        throw HTTPProblem(
            400,
            "ParameterInvalid",
            "\(sizeText(bytes)) of logs times \(steps) filter steps exceeds "
                + "\(sizeText(Self.workMax)); send fewer logs or steps"
        )
    }

    private func senderRules(of name: String) throws(HTTPProblem) -> SenderRules {
        if let known = senders.first(where: { $0.name == name }) { return known.rules }
        let names = senders.prefix(20).map(\.name).joined(separator: ", ")
        throw HTTPProblem(
            400,
            "ParameterInvalid",
            "key \(clipped(name)) is no name of devices.keys; "
                + (names.isEmpty
                    ? "the configuration has no keys, so leave it out" : "known: \(names)")
        )
    }

    private func decoded(
        _ json: [UInt8],
        _ number: Int,
        _ rules: LogRules
    ) throws(HTTPProblem) -> DecodedLogs {
        // simdjson reads beyond the end.
        let padded = json + [UInt8](repeating: 0, count: 64)
        let timing = BatchTiming(arrival: .now)
        do throws(LogDecodingError) {
            return try padded.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
                let content = UnsafeRawBufferPointer(
                    UnsafeBufferPointer(rebasing: bytes[..<json.count])
                )
                return try decoder.json.decodePlain(LogBody(content, timing, rules))
            }
        } catch {
            throw HTTPProblem(400, "PostBodyInvalid", "logs[\(number)]: \(error.reason)")
        }
    }

    private func request(
        _ question: RouteQuestion,
        _ rights: SenderRights,
        _ work: TrialWork
    ) -> DispatchRequest {
        let asked = question.request ?? AskedRequest(path: "/logs/\(question.tag)")
        return DispatchRequest(
            table: table,
            allows: rights.allows,
            checkRight: rights.check,
            sender: SenderText(
                clientIP: question.clientIP,
                key: question.key ?? "",
                receipt: question.receipt,
                work: work,
                part: { asked.text(of: $0) }
            ),
            repeatedBytesMax: decoder.limit.repeating(for: RouteQuestion.bytesMax),
            retarget: { [table] tag throws(Refusal) in
                try table.target(host: question.host, project: question.project, .tag(tag))
            },
            applyRules: { [decoder] logs, target throws(Refusal) in
                try decoder.decode(logs, BatchTiming(arrival: .now), target.rules)
            }
        )
    }

    /// Follows one log by itself, so that its parts are its destinations.
    private func follow(
        _ group: LogGroup,
        of request: DispatchRequest,
        through dispatch: LogDispatch,
        _ trace: FilterTrace
    ) throws(HTTPProblem) -> RouteFindings.Log {
        let earlier = trace.logs.count
        var log = RouteFindings.Log(tag: group.tag)
        let outcome: Result<DispatchedLogs, Refusal> = Result { () throws(Refusal) in
            try dispatch.dispatch([group], request)
        }
        if trace.logs.count > earlier {
            let traced = trace.logs[earlier]
            log.tag = traced.tag
            log.fields = traced.fields ?? []
            log.steps = traced.steps
            switch traced.end {
            case .kept: break
            case .droppedBy(let filter):
                log.droppedBy = table.router?.rules.filters[filter].name
                log.isFiltered = true
                return log
            case .deadLetter(let fault): log.deadLetter = fault
            }
        } else {
            log.fields = try fields(of: group.logs)
        }
        let plan = dispatch.plans(table)?.plan(for: log.tag)
        log.routes = plan?.routes ?? []
        do throws(Refusal) {
            let dispatched = try outcome.get()
            let written = dispatched.parts.reduce(0) { $0 + $1.logs.bytes }
            _ = request.sender.work?.spend(8 * written)
            if dispatched.counts.dropped > 0 {
                log.droppedBy =
                    plan?.outcome == .dropped
                    ? log.routes.last.map { "routes[\($0)]" } : "unrouted"
            }
            let isUnrouted = dispatched.counts.unrouted > 0
            log.places = dispatched.parts.compactMap { place($0, plan, isUnrouted) }
            for part in dispatched.parts { try request.checkRight(part.target.destination) }
        } catch {
            log.refusal = error
            log.places = []
        }
        if let plan { log.places += passedOver(plan, log.places, request) }
        return log
    }

    private func fields(
        of logs: DecodedLogs
    ) throws(HTTPProblem) -> [(name: String, value: String)] {
        let encoded = logs.sound.count > 0 ? logs.sound : logs.faulty.first?.logs
        guard let encoded else { return [] }
        do {
            return try encoded.bytes.withUnsafeBytes { try LogEntry($0) }.fields
                .map { (name: $0.key, value: $0.value) }
        } catch {
            // Our own encoding, not the client's.
            throw HTTPProblem(500, "InternalServerError", "the log was encoded wrongly")
        }
    }

    // MARK: - Destinations

    private func place(
        _ part: TakenPart,
        _ plan: TagPlan?,
        _ isUnrouted: Bool
    ) -> RouteFindings.Place? {
        guard part.logs.count > 0 else { return nil }
        let name = part.target.destination
        var outcome = RouteFindings.Place.Outcome.stored
        var why = isUnrouted ? "no route takes the tag (unrouted)" : "the default destination"
        if !isUnrouted, let plan, plan.outcome == .routed {
            why = plan.routes.filter { routes[$0].destinations.contains(name) }
                .map { "routes[\($0)]" }.joined(separator: ", ")
        }
        if let fault = part.logs.faulty.first?.fault {
            (outcome, why) = (.deadLetter, "\(fault.code): \(fault.message)")
        } else if part.logs.dropped > 0 {
            (outcome, why) = (.dropped, "the log's time is outside log_delay_max (late_logs: drop)")
        }
        return RouteFindings.Place(
            destination: name,
            logstore: table.names[name]?.destination.kind == .sls ? part.target.logstore : nil,
            topic: part.trailer.topic.isEmpty ? nil : part.trailer.topic,
            outcome: outcome,
            why: why
        )
    }

    /// Destinations of matching routes to which the log does not go.
    private func passedOver(
        _ plan: TagPlan,
        _ places: [RouteFindings.Place],
        _ request: DispatchRequest
    ) -> [RouteFindings.Place] {
        var listed = Set(places.map(\.destination))
        var found: [RouteFindings.Place] = []
        func add(_ name: String, _ why: String) {
            guard listed.insert(name).inserted else { return }
            found.append(.init(destination: name, outcome: .passedOver, why: why))
        }
        for name in plan.destinations {
            if table.names[name] == nil {
                add(name, "no destination of this name runs")
            } else if !request.allows(name) {
                add(name, "the key may not send to it")
            } else {
                add(name, "the request is refused")
            }
        }
        guard let router = table.router, let last = plan.routes.last else { return found }
        for index in router.routesBehindLast(plan) {
            for name in routes[index].destinations {
                add(name, "routes[\(index)] matches too, but routes[\(last)] is last")
            }
        }
        return found
    }

    private var routes: [Route] { table.router?.rules.routes ?? [] }
}
