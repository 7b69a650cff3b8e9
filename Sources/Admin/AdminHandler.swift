import Configuration
package import HTTP
package import Ingest
import JSON
package import Operations
package import Queue
import Rendering
package import Resolvers
package import System

/// Answers the requests of operators and their tools.
package final class AdminHandler: RequestHandler {
    /// The parts of the gateway that the admin API shows and changes.
    package struct Shared: Sendable {
        let reporter: Reporter
        let access: AdminTokens
        let workers: OperatorWorkers
        let store: any GatewayQueue
        let tail: Tail
        let destinations: DestinationChanges
        let credentials: CredentialRotation
        let draining: Draining
        let names: NameService
        let history: History
        let reload: ConfigurationReload
        let devices: DeviceHandler.Shared
        let audit: AuditTrail
        let journal: Journal

        package init(
            reporter: Reporter,
            access: AdminTokens,
            workers: OperatorWorkers,
            store: any GatewayQueue,
            tail: Tail,
            destinations: DestinationChanges,
            credentials: CredentialRotation,
            draining: Draining,
            names: NameService,
            history: History,
            reload: ConfigurationReload,
            devices: DeviceHandler.Shared,
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
            self.history = history
            self.reload = reload
            self.devices = devices
            self.audit = audit
            self.journal = journal
        }

        var report: GatewayReport { reporter.report }
    }

    let shared: Shared
    private let deadLetters: DeadLetterDesk
    private let destinations: DestinationDesk
    private let credentials: CredentialDesk
    private let queue: QueueDesk
    private let resolvers: ResolverDesk
    private let captures: CaptureDesk
    private let clients: ClientsDocument
    let door: AdminDoor
    private let sessions: SessionDesk
    /// The listener has TLS. A reload changes that for none.
    private let isSecure: Bool
    /// Made when the first browser comes: it compresses the files.
    private lazy var console = ConsoleDesk()
    private var stamp = Stamp(mint: ReceiptMint())

    package init(_ shared: Shared) {
        self.shared = shared
        let (audit, workers) = (shared.audit, shared.workers)
        let exports = PiecedAnswers(on: workers.views)
        deadLetters = DeadLetterDesk(
            shared.store,
            shared.devices.captures,
            audit,
            views: workers.views,
            changes: workers.changesElsewhere,
            exports: exports
        )
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
        captures = CaptureDesk(
            devices: shared.devices,
            reporter: shared.reporter,
            letters: shared.store,
            audit: audit,
            views: workers.views,
            exports: exports
        )
        clients = ClientsDocument(
            reporter: shared.reporter,
            refused: shared.devices.refusedRequests
        )
        isSecure = shared.reporter.configuration.admin.tls != nil
        door = AdminDoor(
            shared.access,
            shared.reporter.operators,
            shared.journal,
            isSecure: isSecure
        )
        sessions = SessionDesk(door: door, audit: audit, tail: shared.tail, isSecure: isSecure)
        ClusterResponder(shared: shared).begin()
    }

    package func admit(_ head: RequestHead) -> Admission {
        let admission = judge(head)
        guard case .refuse(let response) = admission else { return admission }
        if Self.changes(head) { tellRefused(head, response.status) }
        return .refuse(response.labelled(AdminRoute.label(ofPath: head.pathText)))
    }

    package func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder unlabelled: Responder
    ) {
        let label = AdminRoute.label(ofPath: head.pathText)
        let responder = answering(head, label, unlabelled)
        guard let route = route(of: head) else {
            return responder.send(AdminRoute.unknownPath.response)
        }
        // The token may have been removed, or lost its role, while the body arrived; the session may have ended.
        let visitor: AdminDoor.Visitor?
        switch enter(head, route) {
        case .visitor(let found): visitor = found
        case .refused(let response): return responder.send(response)
        }
        let holder = visitor?.holder
        guard route.isReading(head) || holder?.role == .full else {
            return responder.send(forbidden)
        }
        switch route {
        case .health: responder.send(Response(text: "ok\n"))
        case .readiness:
            let report = shared.report
            let status = report.reasonsAgainstTraffic.isEmpty ? 200 : 503
            let document = report.readinessDocument(inDetail: holder != nil)
            responder.send(Response(status, json: document))
        case .metrics:
            responder.send(
                Response(
                    status: 200,
                    contentType: MetricsPage.contentType,
                    text: shared.report.metrics
                )
            )
        case .status: responder.send(Response(json: shared.report.statusDocument))
        case .session, .sessionCode:
            responder.send(sessionAnswer(route, head, body, visitor))
        case .consoleHome:
            responder.send(Response(status: 308, fields: [("location", "/console/")]))
        case .console(let name): responder.send(console.file(name, head))
        case .consoleStatus:
            let status = holder.map { _ in Array(shared.report.statusDocument.utf8) }
            responder.send(console.statusPage(status.map { View.status.text(of: $0) }))
        case .consoleLogin: responder.send(sessions.openFromForm(head, body))
        case .document: responder.send(Response(json: EmbeddedFiles.openAPI))
        case .audit: AuditDesk(decisions: shared.store).list(head, responder)
        case .deadLetters, .deadLetterExport, .deadLetterReplay, .deadLetterPurge, .deadLetter:
            guard let holder else { return }
            let actor = Operator(name: holder.name(at: head.peer), address: head.peer.host)
            deadLetters.handle(
                route,
                head,
                body,
                actor,
                responder,
                unlabelled: unlabelled,
                label
            )
        case .destinations, .destination, .destinationPause, .destinationResume, .destinationFlush:
            guard let holder else { return }
            destinations.handle(route, head, body, holder, responder)
        case .credentials, .credential, .credentialVerify, .destinationTest:
            guard let holder else { return }
            credentials.handle(route, head, body, holder, responder)
        case .tail:
            guard let visitor else { return }
            TailDesk(tail: shared.tail).follow(head, visitor, unlabelled, label)
        case .queue: queue.show(head, responder)
        case .queuePeek: queue.peek(head, responder)
        case .history: responder.send(HistoryDocument.answer(head, shared.history))
        case .configuration:
            let configuration = shared.reporter.configuration
            responder.send(ConfigurationDocument.answer(configuration, shared.reload.problems))
        case .clients: responder.send(clients.clients())
        case .refusals: responder.send(clients.refusals())
        case .captures, .capture, .captureHAR, .captureExport, .captureRecord, .captureCurl,
            .captureReplay:
            guard let holder else { return }
            captures.handle(
                route,
                head,
                body,
                holder,
                responder,
                streaming: unlabelled,
                metricLabel: label
            )
        case .ledger: responder.send(Response(json: shared.report.ledgerDocument))
        case .routes: responder.send(Response(json: shared.reporter.rulesDocument))
        case .routeTest:
            guard let holder else { return }
            let desk = RouteDesk(reporter: shared.reporter, views: shared.workers.views)
            desk.test(body, holder, responder)
        case .resolvers: resolvers.show(responder)
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
        if !response.fields.contains(where: { $0.name == "cache-control" }) {
            fields += Array("cache-control: no-store\r\n".utf8)
        }
        fields += Array("x-content-type-options: nosniff\r\n".utf8)
        if isSecure { fields += Array("strict-transport-security: max-age=31536000\r\n".utf8) }
        shared.reporter.operators.answers.count(response)
        stamp.apply(to: &fields, of: response)
    }

    private func sessionAnswer(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ visitor: AdminDoor.Visitor?
    ) -> Response {
        if route == .session, head.method == .post { return sessions.open(head, body) }
        guard let visitor else { return door.strangerAnswer(head, nil) }
        switch (route, head.method) {
        case (.sessionCode, _): return sessions.makeCode(visitor.holder)
        case (_, .delete): return sessions.close(visitor, head)
        default: return sessions.show(visitor)
        }
    }

    private func drain(_ head: RequestHead, _ holder: AdminHolder, _ responder: Responder) {
        let (reporter, draining) = (shared.reporter, shared.draining)
        guard !head.method.isReading else {
            return responder.send(Response(json: reporter.report.drainDocument))
        }
        let isOn = head.method == .post
        let entry = shared.audit.entry(holder, head, isOn ? "drain" : "end drain", "gateway")
        shared.workers.changes.post(answering: responder) {
            if isOn { draining.begin(entry) } else { draining.end(entry) }
            responder.send(Response(json: reporter.report.drainDocument))
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
        let notice = RefusalNotice(head, door.namedHolder(head), shared.journal)
        return Responder { response in
            if (400..<500).contains(response.status) { notice.tell(response.status) }
            last.give(response)
        }
    }

    /// True for a request that would change something, if it is not refused.
    private static func changes(_ head: RequestHead) -> Bool {
        let route = AdminRoute(path: head.pathText)
        return !(route?.isReading(head) ?? head.method.isReading)
    }

    private func tellRefused(_ head: RequestHead, _ status: Int) {
        RefusalNotice(head, door.namedHolder(head), shared.journal).tell(status)
    }

    var forbidden: Response {
        refused(403, "Forbidden", "this token may only read; changes need a token with role full")
    }

    func refused(_ status: Int, _ code: String, _ reason: String) -> Response {
        HTTPProblem(status, code, reason).response
    }
}

extension SerialWorker {
    /// Runs the work after the jobs that wait already. Answers with the problem that the work throws, or with
    /// `full` if too many jobs wait.
    func post(
        answering responder: Responder,
        orWhenFull full: HTTPProblem = .tooManyChanges,
        _ work: @escaping @Sendable () throws(HTTPProblem) -> Void
    ) {
        let isTaken = post {
            do throws(HTTPProblem) {
                try work()
            } catch {
                responder.send(error.response)
            }
        }
        if !isTaken { responder.send(full.response) }
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

    /// The same without a copy, for long ones.
    init(json: consuming JSONWriter) {
        json.endLine()
        self.init(status: 200, contentType: "application/json", body: json.bytes)
    }
}
