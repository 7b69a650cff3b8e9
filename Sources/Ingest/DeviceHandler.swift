package import Configuration
package import HTTP
import Logs
import Net
package import Queue
package import Routing
package import System

/// Answers devices. Each loop and each worker thread has one, with decoders and an inflater of its
/// own.
package final class DeviceHandler: RequestHandler {
    /// What the handlers of all threads share.
    package struct Shared: Sendable {
        package let queue: any BatchQueue
        package let routes: Replaceable<RoutingTable>
        package let door: DeviceDoor
        package let limits: LimitSettings
        package let mint: ReceiptMint
        package let counters: IngestCounters
        package let intake = IntakeSwitch()
        /// Counts for all devices without a key.
        let keyless = KeyCounter()
        /// The clock of budgets.
        var clock: @Sendable () -> Moment = { .now }
        /// SLS's clock minus the host's, for a destination that knows the host's to be wrong.
        package var clockOffset: @Sendable (String) -> Duration = { _ in .zero }
        /// nil: there is no admin API to show it.
        package var tail: Tail?
        package let refusedRequests = RefusedRequests()
        package let captures: Captures
        /// What filters did.
        package let filters = FilterCounters()
        /// True: the queue gets the identity of each request, to recognise its repetition.
        package let recognizesRepeats: Bool

        package init(
            queue: any BatchQueue,
            routes: RoutingTable,
            devices: DeviceSettings = DeviceSettings(),
            limits: LimitSettings = LimitSettings(),
            recognizesRepeats: Bool = true,
            counters: IngestCounters = IngestCounters()
        ) {
            self.queue = queue
            self.routes = Replaceable(routes)
            door = DeviceDoor(devices, bodyBytesMax: limits.bodyBytes)
            self.limits = limits
            captures = Captures(bytesMax: limits.captureBytes)
            self.mint = ReceiptMint()
            self.counters = counters
            self.recognizesRepeats = recognizesRepeats
        }
    }

    let shared: Shared
    let answers: DeviceAnswers
    let decoder: BodyDecoder
    let tables: RequestTables
    let dispatch: LogDispatch
    private var stamp: Stamp

    package init(_ shared: Shared) {
        self.shared = shared
        answers = DeviceAnswers(shared)
        decoder = BodyDecoder(shared.limits)
        tables = RequestTables(
            shared.door,
            shared.routes,
            bodyBytesMax: shared.limits.bodyBytes
        )
        dispatch = LogDispatch(shared.limits.json, shared.filters)
        stamp = Stamp(mint: shared.mint)
    }

    package func admit(_ head: RequestHead) -> Admission {
        tables.refresh()
        let route = tables.route(of: head)
        var logs: AdmittedLogs?
        do throws(Refusal) {
            let subject = try admit(head, route, &logs)
            guard case .logs(let logs) = subject else {
                let admitted = AdmittedRequest(subject, tables.generations)
                return .accept(bodyBytesMax: 0, admitted: admitted)
            }
            return .accept(bodyBytesMax: shared.limits.bodyBytes, admitted: logs)
        } catch {
            return .refuse(refused(error, route, head, of: logs, in: capture(head, logs)))
        }
    }

    /// The draft of a request that a capture may want; mostly nil, after one atomic load. With
    /// `logs` its head was admitted.
    private func capture(_ head: RequestHead, _ logs: AdmittedLogs? = nil) -> CaptureDraft? {
        guard shared.captures.mayWant else { return nil }
        let draft = CaptureDraft(
            head,
            shared.captures,
            tables.access.proxies,
            anyTagIsRedacted: tables.routing.redacts
        )
        if let logs { draft?.admit(logs, dispatch.plans(tables.routing)) }
        return draft?.isWanted == true ? draft : nil
    }

    /// Answers a refused request, and keeps it, also in captures that want it.
    private func refused(
        _ refusal: Refusal,
        _ route: DeviceRoute,
        _ head: RequestHead?,
        of logs: AdmittedLogs?,
        in draft: CaptureDraft?
    ) -> Response {
        let response = answers.refused(refusal, route, tables.crossOrigin(head))
        let address = head?.clientAddress(behind: tables.access.proxies)?.description
        shared.refusedRequests.keep(
            head,
            refusal,
            as: response.status,
            address: address,
            key: logs?.sender?.name,
            hidesLogs: tables.routing.redacts
        )
        draft?.answered(response, .refused(refusal))
        return response
    }

    /// `logs` is set as soon as the sender and the target are known, also if the request is refused
    /// after that.
    private func admit(
        _ head: RequestHead,
        _ route: DeviceRoute,
        _ logs: inout AdmittedLogs?
    ) throws(Refusal) -> AdmittedRequest.Subject {
        if case .unknown = route { throw tables.access.accepted.unknownPath }
        guard route.methods.all.contains(head.method) else { throw .method(route.methods) }
        if case .logs(let dialect) = route, head.method != .options {
            return .logs(try admit(head, dialect, &logs))
        }
        let subject = try subject(of: head, route)
        guard !head.announcesBody else { throw .unwantedBody }
        return subject
    }

    private func admit(
        _ head: RequestHead,
        _ dialect: any LogDialect,
        _ found: inout AdmittedLogs?
    ) throws(Refusal) -> AdmittedLogs {
        guard !dialect.bringsLogs || !shared.intake.isOff else { throw .draining }
        let address = tables.addressBudget(of: head)
        try address?.enter(dialect.label, at: shared.clock())
        let logs = try tables.admitLogs(head, dialect, address)
        found = logs
        try checkAdmission(of: logs)
        // The last check: a request that is refused for another reason takes nothing.
        try logs.budget.enter(dialect.label, at: shared.clock)
        return logs
    }

    /// The queue's admission, as far as the head tells the target. Logs in the body may name
    /// logstores that have room when the head's has none; the queue is asked for those when they
    /// are known. Filters may drop all logs, or give them another tag, so the queue decides when
    /// those are known.
    private func checkAdmission(of logs: AdmittedLogs) throws(Refusal) {
        let target = logs.target
        guard logs.dialect.bringsLogs else { return }
        if let plans = dispatch.plans(tables.routing) {
            guard let plan = logs.reader.tag.map({ plans.plan(for: $0) }), plan.filters.isEmpty
            else { return try check(shared.queue.admission) }
            if target.isRouted {
                for name in plan.destinations where tables.routing.isRequired(name) {
                    try check(shared.queue.admission(forDestination: name), of: name)
                }
                return try check(shared.queue.admission)
            }
        }
        let name = target.destination
        guard logs.reader.bodyNamesLogstores, target.tag != nil else {
            return try check(shared.queue.admission(for: target.outlet), of: name)
        }
        try check(shared.queue.admission(forDestination: name), of: name)
    }

    private func check(_ admission: QueueAdmission, of name: String? = nil) throws(Refusal) {
        guard admission == .open else { throw Refusal(admission, of: name) }
    }

    package func prepare(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer
    ) -> Int? {
        // A split copies the other fields of a log for each of its elements.
        let short = ContentCost.shortBytes / tables.routing.growth
        guard decoder.limit.allowance(for: body.count) > short else { return nil }
        guard case .logs(let dialect) = route(of: head, admitted) else { return nil }
        let bytes = decoder.contentBytesMax(of: body.count, head, dialect.coding)
        guard max(bytes, body.count) > short else { return nil }
        let isShort =
            if !decoder.inflates(head, dialect.coding) {
                // Filters may cost more than reading.
                !tables.routing.hasFilters && dialect.isText && ContentCost.isShort(text: body)
            } else {
                body.count <= short
                    && decoder.prepareContent(of: body, atMost: short, head, dialect.coding)
            }
        return isShort ? nil : max(bytes, body.count)
    }

    /// The route that `admit` found. It need not be current: it decides about the thread and an
    /// answer's form only.
    private func route(of head: RequestHead, _ admitted: Admitted?) -> DeviceRoute {
        switch admitted {
        case let logs as AdmittedLogs: .logs(logs.dialect)
        case let other as AdmittedRequest: other.subject.route
        default: tables.route(of: head)
        }
    }

    package func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder: Responder
    ) {
        // Also forgets what `prepare` inflated.
        defer { decoder.forget() }
        // The keys or the routes may have changed since `admit`, which ran before the body came and
        // perhaps on another thread.
        tables.refresh()
        switch admitted {
        case let logs as AdmittedLogs where logs.tables == tables.generations:
            return take(logs, of: head, body: body, responder)
        case let other as AdmittedRequest where other.tables == tables.generations:
            return handle(head, other.subject, body: body, responder)
        default: break
        }
        let route = tables.route(of: head)
        do throws(Refusal) {
            let subject = try subject(of: head, route)
            handle(head, subject, body: body, responder)
        } catch {
            responder.send(refused(error, route, head, of: nil, in: capture(head)))
        }
    }

    private func subject(
        of head: RequestHead,
        _ route: DeviceRoute
    ) throws(Refusal) -> AdmittedRequest.Subject {
        switch route {
        // A reload may have switched the dialect off while the body came.
        case .unknown: throw tables.access.accepted.unknownPath
        case _ where head.method == .options:
            try tables.checkPreflight(head, route)
            return .preflight(route)
        case .logs(let dialect):
            return .logs(try tables.admitLogs(head, dialect, tables.addressBudget(of: head)))
        case .page(let page):
            guard page.tellsHealth, shared.queue.failsWhileOthersWork else { return .page(page) }
            return .page(DevicePage(label: page.label, response: page.refused(Refusal(.failing))))
        }
    }

    private func handle(
        _ head: RequestHead,
        _ subject: AdmittedRequest.Subject,
        body: UnsafeRawBufferPointer,
        _ responder: Responder
    ) {
        switch subject {
        case .page(let page): responder.send(answers.page(page))
        case .preflight(let route):
            let headers = tables.access.preflightHeaders
            responder.send(answers.preflight(route, headers, tables.crossOrigin(head)))
        case .logs(let logs): take(logs, of: head, body: body, responder)
        }
    }

    /// Answers now if the logs are refused, otherwise when they are durable.
    private func take(
        _ logs: AdmittedLogs,
        of head: RequestHead,
        body: UnsafeRawBufferPointer,
        _ responder: Responder
    ) {
        let draft = capture(head, logs)
        let request = IncomingLogs(
            head: head,
            admitted: logs,
            receipt: shared.mint.next(),
            responder: responder,
            draft: draft
        )
        do throws(Refusal) {
            try take(request, body)
        } catch {
            // Unless its content was kept already.
            let isCompressed = decoder.inflates(head, logs.dialect.coding)
            draft?.keep(body, nil, isCompressed: isCompressed)
            responder.send(refused(error, .logs(logs.dialect), head, of: logs, in: draft))
        }
    }

    package func answer(
        to problem: RequestProblem,
        head: RequestHead?,
        _ admitted: Admitted?
    ) -> Response {
        tables.refresh()
        let route = head.map { self.route(of: $0, admitted) } ?? .unknown(isSLSPath: false)
        var refusal = Refusal(problem)
        // On a bad line logs come slowly: SDKs drop logs that are answered with 408, and keep those
        // answered with 503. An unreadable head may have been that of logs.
        if problem.status == 408, head == nil || route.isForLogs {
            refusal = Refusal.busy("\(problem.reason); send the logs again")
        }
        let logs = admitted as? AdmittedLogs
        let draft = head.flatMap { capture($0, logs) }
        return refused(refusal, route, head, of: logs, in: draft)
    }

    package func stamp(_ fields: inout [UInt8], of response: Response) {
        shared.counters.answers.count(response)
        stamp.apply(to: &fields, of: response)
    }
}
