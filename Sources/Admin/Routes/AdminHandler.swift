import Configuration
package import HTTP
import Ingest
package import Operations
import Queue
import Resolvers
import System

package final class AdminHandler: RequestHandler {
    package struct Shared: Sendable {
        let parts: GatewayParts
        let reporter: Reporter
        let destinations: DestinationChanges
        let credentials: CredentialRotation
        let draining: Draining
        let history: History
        let reload: ConfigurationReload
        let audit: AuditTrail

        package init(
            _ parts: GatewayParts,
            _ reload: ConfigurationReload,
            reporter: Reporter,
            history: History
        ) {
            self.parts = parts
            self.reload = reload
            self.reporter = reporter
            self.history = history
            audit = AuditTrail(
                decisions: parts.store.decisions,
                journal: parts.journal,
                counters: reporter.operators
            )
            destinations = DestinationChanges(parts, reload, audit)
            credentials = CredentialRotation(parts, audit)
            draining = Draining(parts, audit)
        }

        var store: any GatewayQueue { parts.store }
        var devices: DeviceHandler.Shared { parts.devices }
        var report: GatewayReport { reporter.report }
    }

    let shared: Shared
    let door: AdminDoor
    /// The listener has TLS. A reload changes that for none.
    let isSecure: Bool
    private let exports: PiecedAnswers
    private let viewers = AdminPlaces(OperatorWorkers.waitingViewsMax)
    private var stamp = Stamp(mint: ReceiptMint())

    package init(_ shared: Shared) {
        self.shared = shared
        exports = PiecedAnswers(on: shared.parts.workers.views)
        isSecure = shared.reporter.configuration.admin.tls != nil
        door = AdminDoor(
            shared.parts.access,
            shared.reporter.operators,
            shared.parts.journal,
            isSecure: isSecure
        )
    }

    package func admit(_ head: RequestHead) -> Admission {
        let found = find(head)
        do throws(Refused) {
            return .accept(bodyBytesMax: try judge(head, found).bodyBytesMax, isSecret: true)
        } catch {
            if changes(head, found) { refusalNotice(head)(error.response.status) }
            return .refuse(error.response.labelled(AdminRoute.labelIndex(found)))
        }
    }

    package func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder unlabelled: Responder
    ) {
        let found = find(head)
        let label = AdminRoute.labelIndex(found)
        let responder = answering(head, isChange: changes(head, found), label: label, unlabelled)
        guard let found, let route = found[head.method] else {
            return responder.send(AdminRoute.unknownPath.response)
        }
        let visitor: AdminDoor.Visitor?
        do throws(Refused) {
            // While the body arrived, the token may have gone or lost its role, or the session
            // ended.
            visitor = try enter(head, route)
            try checkRole(of: visitor, for: route, head)
        } catch {
            return responder.send(error.response)
        }
        let isSecret = if case .handler = route.answer { true } else { false }
        let call = AdminCall(
            shared: shared,
            head: head,
            values: found.values,
            body: isSecret ? [] : Array(body),
            actor: Operator(visitor?.holder, at: head.peer),
            visitor: visitor,
            responder: responder,
            stream: .init(responder: unlabelled, label: label, exports: exports, viewers: viewers)
        )
        switch route.answer {
        case .handler(let answer):
            call.respond { () throws(HTTPProblem) in try answer(self)(call, body) }
        case .request(nil, let answer): call.respond(answer(call))
        case .request(let thread?, let answer):
            call.respond(on: thread) { () throws(HTTPProblem) in try answer(call)() }
        }
    }

    package func answer(
        to problem: RequestProblem,
        head: RequestHead?,
        _ admitted: Admitted?
    ) -> Response {
        let label = AdminRoute.labelIndex(head.flatMap(find))
        return HTTPProblem(problem).response.labelled(label)
    }

    package func stamp(_ fields: inout [UInt8], of response: Response) {
        if !response.fields.contains(where: { $0.name == "cache-control" }) {
            fields += Array("cache-control: no-store\r\n".utf8)
        }
        fields += Array("x-content-type-options: nosniff\r\n".utf8)
        fields += Array("cross-origin-resource-policy: same-origin\r\n".utf8)
        if isSecure { fields += Array("strict-transport-security: max-age=31536000\r\n".utf8) }
        shared.reporter.operators.answers.count(response)
        stamp.apply(to: &fields, of: response)
    }

    /// A responder that labels its answer, and reports refused changes in the journal.
    private func answering(
        _ head: RequestHead,
        isChange: Bool,
        label: Int,
        _ responder: Responder
    ) -> Responder {
        let last = AnswerOnStop(shared.parts.workers.changes) { responder.send($0.labelled(label)) }
        guard isChange else { return Responder { last.give($0) } }
        let tell = refusalNotice(head)
        return Responder { response in
            if (400..<500).contains(response.status) { tell(response.status) }
            last.give(response)
        }
    }

    /// True for a request that would change something, if it is not refused.
    private func changes(_ head: RequestHead, _ found: AdminRoute.Found?) -> Bool {
        !(found?[head.method]?.isReading(head) ?? head.method.isReading)
    }

    /// Reports a refused change without the reason, which may repeat parts of the request.
    private func refusalNotice(_ head: RequestHead) -> @Sendable (_ status: Int) -> Void {
        let (holder, journal) = (door.namedHolder(head), shared.parts.journal)
        return { status in
            guard let holder else { return }
            journal.warning(
                "a change by an operator was refused",
                [
                    "actor": holder.name(at: head.peer), "address": head.peer.host,
                    "method": "\(head.method)", "path": clipped(head.pathText, to: 160),
                    "status": "\(status)",
                ]
            )
        }
    }

    // MARK: - Who may come in, and with what

    /// nil also for the console's paths while it is turned off.
    private func find(_ head: RequestHead) -> AdminRoute.Found? {
        let found = AdminRoute.find(head.pathText)
        guard found?.routes[0].isOfConsole == true else { return found }
        return shared.reporter.configuration.admin.hasConsole ? found : nil
    }

    private struct Refused: Error {
        let response: Response

        init(_ response: Response) { self.response = response }
        init(_ problem: HTTPProblem) { response = problem.response }
    }

    private func judge(
        _ head: RequestHead,
        _ found: AdminRoute.Found?
    ) throws(Refused) -> AdminRoute {
        let visitor = try enter(head, found.map { $0[head.method] ?? $0.routes[0] })
        guard let found else { throw Refused(AdminRoute.unknownPath) }
        guard let route = found[head.method] else {
            let names = found.methodNames
            let problem = HTTPProblem(405, "InvalidMethod", "this path allows only \(names)")
            var response = problem.response
            response.fields.append(("allow", names))
            throw Refused(response)
        }
        try checkRole(of: visitor, for: route, head)
        guard !head.announcesBody || head.announcesJSON || route.takesForm else {
            let reason = "send the body with Content-Type: application/json"
            throw Refused(HTTPProblem(415, "ContentTypeInvalid", reason))
        }
        if let problem = route.problem(withQueryOf: head) { throw Refused(problem) }
        guard route.bodyBytesMax > 0 || !head.announcesBody else {
            throw Refused(Refusal.unwantedBody.problem)
        }
        return route
    }

    private func checkRole(
        of visitor: AdminDoor.Visitor?,
        for route: AdminRoute,
        _ head: RequestHead
    ) throws(Refused) {
        guard route.isReading(head) || visitor?.holder.role == .full else {
            let reason = "this token may only read; changes need a token with role full"
            throw Refused(HTTPProblem(403, "Forbidden", reason))
        }
    }

    /// The first check, so that strangers learn no paths. nil: the path is open to them.
    private func enter(
        _ head: RequestHead,
        _ route: AdminRoute?
    ) throws(Refused) -> AdminDoor.Visitor? {
        let settings = shared.reporter.configuration.admin
        // A page of another site can make a browser send this request.
        if route?.isForBrowsers(head) ?? false, head.fieldRange("authorization") == nil,
            let problem = CrossSiteRules.hostProblem(head, settings)
                ?? (head.method == .post
                    ? CrossSiteRules.originProblem(head, isSecure: isSecure) : nil)
        {
            throw Refused(problem)
        }
        // A login's token is judged with its body, once.
        if route?.access == .stranger { return nil }
        guard let visitor = door.visitor(head) else {
            let shown = head.fieldRange("authorization").map { head.bytes[$0] }
            guard route?.access == .strangerOrReader else {
                throw Refused(door.strangerAnswer(head, shown))
            }
            if let shown { door.recordGuess(shown, head) }
            return nil
        }
        guard visitor.session != nil else { return visitor }
        guard settings.hasConsole else { throw Refused(door.strangerAnswer(head, nil)) }
        let changes = !head.method.isReading
        if let problem = CrossSiteRules.problem(
            with: head,
            changes: changes,
            isSecure: isSecure,
            settings
        ) {
            throw Refused(problem)
        }
        return visitor
    }
}
