import Configuration
package import HTTP
package import Ingest
package import Operations
import Queue
package import Resolvers
package import SQLiteQueue
package import System

/// Answers the requests of operators and their tools.
package final class AdminHandler: RequestHandler {
    /// The parts of the gateway that the admin API shows and changes.
    package struct Shared: Sendable {
        let reporter: Reporter
        let access: AdminTokens
        let workers: OperatorWorkers
        let store: DurableQueue
        let tail: Tail
        let destinations: DestinationChanges
        let credentials: CredentialRotation
        let draining: Draining
        let names: NameService
        let audit: AuditTrail
        let journal: Journal

        package init(
            reporter: Reporter,
            access: AdminTokens,
            workers: OperatorWorkers,
            store: DurableQueue,
            tail: Tail,
            destinations: DestinationChanges,
            credentials: CredentialRotation,
            draining: Draining,
            names: NameService,
            audit: AuditTrail,
            journal: Journal
        ) {
            self.reporter = reporter
            self.access = access
            self.workers = workers
            self.store = store
            self.tail = tail
            self.destinations = destinations
            self.credentials = credentials
            self.draining = draining
            self.names = names
            self.audit = audit
            self.journal = journal
        }

        var report: GatewayReport { reporter.report }
    }

    private let shared: Shared
    private let deadLetters: DeadLetterDesk
    private let destinations: DestinationDesk
    private let credentials: CredentialDesk
    private let queue: QueueDesk
    private let resolvers: ResolverDesk
    private var doorkeeper = Doorkeeper()
    private var stamp = Stamp(mint: ReceiptMint())

    package init(_ shared: Shared) {
        self.shared = shared
        let (audit, workers) = (shared.audit, shared.workers)
        deadLetters = DeadLetterDesk(shared.store, audit)
        destinations = DestinationDesk(
            destinations: shared.destinations,
            reporter: shared.reporter,
            worker: workers.changes,
            audit: audit
        )
        credentials = CredentialDesk(
            rotation: shared.credentials,
            workers: workers,
            audit: audit
        )
        queue = QueueDesk(
            reporter: shared.reporter,
            store: shared.store,
            views: workers.views
        )
        resolvers = ResolverDesk(names: shared.names, reporter: shared.reporter, audit: audit)
    }

    package func admit(_ head: RequestHead) -> Admission {
        let admission = judge(head)
        guard case .refuse(let response) = admission else { return admission }
        if Self.changes(head) { Self.tellRefused(head, response.status, shared) }
        return .refuse(response.labelled(AdminRoute.label(ofPath: head.pathText)))
    }

    private func judge(_ head: RequestHead) -> Admission {
        let route = AdminRoute(path: head.pathText)
        // First of all, so that the answer reveals no paths to a client without a token.
        let holder = holder(of: head)
        guard route?.isOpen == true || holder != nil else { return .refuse(strange(head)) }
        guard let route else { return .refuse(refused(404, "PathNotExist", AdminRoute.hint)) }
        guard route.methods.contains(head.method) else {
            let names = route.methodNames
            var response = refused(405, "InvalidMethod", "this path allows only \(names)")
            response.fields.append(("allow", names))
            return .refuse(response)
        }
        guard route.isReading(head.method) || holder?.role == .full else {
            return .refuse(forbidden)
        }
        guard !head.announcesBody || head.announcesJSON else {
            return .refuse(
                refused(
                    415,
                    "ContentTypeInvalid",
                    "send the body with Content-Type: application/json"
                )
            )
        }
        if let problem = route.problem(withQueryOf: head) {
            return .refuse(problem.response)
        }
        let bodyBytesMax = route.bodyBytesMax(head.method)
        guard bodyBytesMax > 0 || !head.announcesBody else {
            return .refuse(Refusal.unwantedBody.problem.response)
        }
        return .accept(bodyBytesMax: bodyBytesMax, isSecret: true)
    }

    package func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder unlabelled: Responder
    ) {
        let label = AdminRoute.label(ofPath: head.pathText)
        let responder = answering(head, label, unlabelled)
        guard let route = AdminRoute(path: head.pathText) else {
            return responder.send(refused(404, "PathNotExist", AdminRoute.hint))
        }
        // The token may have been removed, or lost its role, while the body arrived.
        let holder = holder(of: head)
        guard route.isOpen || holder != nil else { return responder.send(strange(head)) }
        guard route.isReading(head.method) || holder?.role == .full else {
            return responder.send(forbidden)
        }
        switch route {
        case .health: responder.send(Response(text: "ok\n"))
        case .readiness:
            let report = shared.report
            let status = report.reasonsAgainstTraffic.isEmpty ? 200 : 503
            responder.send(
                head.wantsText
                    ? Response(status, text: report.readinessText)
                    : Response(status, json: report.readinessDocument)
            )
        case .metrics:
            responder.send(
                Response(
                    status: 200,
                    contentType: MetricsPage.contentType,
                    text: shared.report.metrics
                )
            )
        case .status:
            let report = shared.report
            responder.send(
                head.wantsText
                    ? Response(text: report.statusText) : Response(json: report.statusDocument)
            )
        case .document: responder.send(Response(json: EmbeddedFiles.openAPI))
        case .audit: AuditDesk(decisions: shared.store).list(head, responder)
        case .deadLetters, .deadLetterExport, .deadLetterReplay, .deadLetterPurge, .deadLetter:
            guard let holder else { return }
            deadLetters.handle(route, head, body, holder, responder)
        case .destinations, .destination, .destinationPause, .destinationResume, .destinationFlush:
            guard let holder else { return }
            destinations.handle(route, head, body, holder, responder)
        case .credentials, .credential, .credentialVerify:
            guard let holder else { return }
            credentials.handle(route, head, body, holder, responder)
        case .tail:
            guard let holder else { return }
            TailDesk(tail: shared.tail).follow(head, holder, unlabelled, label)
        case .queue: queue.show(head, responder)
        case .ledger: responder.send(Response(json: shared.report.ledgerDocument))
        case .routes: responder.send(Response(json: shared.reporter.rulesDocument))
        case .routeTest:
            guard let holder else { return }
            let desk = RouteDesk(reporter: shared.reporter, views: shared.workers.views)
            desk.test(head, body, holder, responder)
        case .resolvers: resolvers.show(head, responder)
        case .resolverLookup: resolvers.look(head, responder)
        case .resolverRefresh:
            guard let holder else { return }
            resolvers.refresh(head, holder, responder)
        case .drain:
            guard let holder else { return }
            drain(head, holder, responder)
        }
    }

    package func answer(
        to problem: RequestProblem,
        head: RequestHead?,
        _ admitted: Admitted?
    ) -> Response {
        let label = head.map { AdminRoute.label(ofPath: $0.pathText) } ?? 0
        return HTTPProblem(problem).response.labelled(label)
    }

    package func stamp(_ fields: inout [UInt8], of response: Response) {
        fields += Array("cache-control: no-store\r\n".utf8)
        shared.reporter.operators.answers.count(response)
        stamp.apply(to: &fields, of: response)
    }

    /// The holder of the request's token. nil while the address has to wait, unless this token came from there before.
    private func holder(of head: RequestHead) -> AdminHolder? {
        guard let range = head.fieldRange("authorization") else { return nil }
        let address = head.peer.neighbourhood
        guard
            doorkeeper.wait(of: address, .now) == nil
                || doorkeeper.hasAdmitted(head.bytes[range], from: address)
        else { return nil }
        guard let holder = shared.access.holder(of: head.bytes[range]) else { return nil }
        // A token for reading forgives nothing: its holder could guess the full token in between. Nor does any token
        // while its address waits, since the guesses may be a neighbour's.
        let isForgiving = holder.role == .full && doorkeeper.wait(of: address, .now) == nil
        doorkeeper.admitted(head.bytes[range], from: address, forgiving: isForgiving)
        return holder
    }

    /// The answer to a missing or unknown token, the same for every path.
    private func strange(_ head: RequestHead) -> Response {
        let now = Moment.now
        let address = head.peer.neighbourhood
        if doorkeeper.wait(of: address, now) == nil, let range = head.fieldRange("authorization"),
            doorkeeper.refused(head.bytes[range], from: address, now)
        {
            shared.journal.warning(
                "too many wrong admin tokens from this address; throttled",
                ["address": head.peer.host]
            )
        }
        var response: Response
        if let wait = doorkeeper.wait(of: address, now) {
            response =
                HTTPProblem(
                    429,
                    "TooManyAttempts",
                    "too many failed logins from this address; wait as long as Retry-After says",
                    retryAfter: Int(max(1, wait.milliseconds / 1000 + 1))
                ).response
        } else {
            response = refused(
                401,
                "Unauthorized",
                "send Authorization: Bearer with an admin token (admin.token)"
            )
            response.fields.append(("www-authenticate", "Bearer realm=\"sluice\""))
        }
        response.closes = true
        return response
    }

    private func drain(_ head: RequestHead, _ holder: AdminHolder, _ responder: Responder) {
        let (reporter, draining) = (shared.reporter, shared.draining)
        let wantsText = head.wantsText
        guard !head.method.isReading else {
            return responder.send(reporter.report.drainAnswer(wantsText))
        }
        let isOn = head.method == .post
        let entry = shared.audit.entry(holder, head, isOn ? "drain" : "end drain", "gateway")
        shared.workers.changes.post(answering: responder) {
            if isOn { draining.begin(entry) } else { draining.end(entry) }
            responder.send(reporter.report.drainAnswer(wantsText))
        }
    }

    /// A responder that labels its answer, and reports refused changes in the journal.
    private func answering(
        _ head: RequestHead,
        _ label: Int,
        _ responder: Responder
    ) -> Responder {
        let last = AnswerOnStop(shared.workers.changes) { responder.send($0.labelled(label)) }
        guard Self.changes(head) else { return Responder { last.give($0) } }
        return Responder { [shared] response in
            if (400..<500).contains(response.status) {
                Self.tellRefused(head, response.status, shared)
            }
            last.give(response)
        }
    }

    /// True for a request that would change something, if it is not refused.
    private static func changes(_ head: RequestHead) -> Bool {
        let route = AdminRoute(path: head.pathText)
        return !(route?.isReading(head.method) ?? head.method.isReading)
    }

    /// Names the attempt and its actor, not the reason: that may repeat parts of the request.
    private static func tellRefused(_ head: RequestHead, _ status: Int, _ shared: Shared) {
        let holder = head.fieldRange("authorization").flatMap {
            shared.access.holder(of: head.bytes[$0])
        }
        guard let holder else { return }
        shared.journal.warning(
            "a change by an operator was refused",
            [
                "actor": holder.name(at: head.peer), "address": head.peer.host,
                "method": "\(head.method)", "path": clipped(head.pathText, to: 160),
                "status": "\(status)",
            ]
        )
    }

    private var forbidden: Response {
        refused(403, "Forbidden", "this token may only read; changes need a token with role full")
    }

    private func refused(_ status: Int, _ code: String, _ reason: String) -> Response {
        HTTPProblem(status, code, reason).response
    }
}

extension SerialWorker {
    /// Runs the work after the jobs that wait already. Answers with the problem that the work throws, or when too many
    /// jobs wait.
    func post(
        answering responder: Responder,
        _ work: @escaping @Sendable () throws(HTTPProblem) -> Void
    ) {
        let isTaken = post {
            do throws(HTTPProblem) {
                try work()
            } catch {
                responder.send(error.response)
            }
        }
        if !isTaken { responder.send(HTTPProblem.tooManyChanges.response) }
    }
}

extension Response {
    /// An answer for people.
    init(_ status: Int = 200, text: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", text: text)
    }

    /// An answer for scripts.
    init(_ status: Int = 200, json: String) {
        self.init(status: status, contentType: "application/json", text: json)
    }
}
