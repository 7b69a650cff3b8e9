import Configuration
import HTTP
import Ingest
import Operations

// Who may come in, and with what.
extension AdminHandler {
    func judge(_ head: RequestHead) -> Admission {
        let route = route(of: head)
        let visitor: AdminDoor.Visitor?
        switch enter(head, route) {
        case .visitor(let found): visitor = found
        case .refused(let response): return .refuse(response)
        }
        guard let route else { return .refuse(AdminRoute.unknownPath.response) }
        guard route.methods.contains(head.method) else {
            let names = route.methodNames
            var response = refused(405, "InvalidMethod", "this path allows only \(names)")
            response.fields.append(("allow", names))
            return .refuse(response)
        }
        guard route.isReading(head) || visitor?.holder.role == .full else {
            return .refuse(forbidden)
        }
        guard !head.announcesBody || head.announcesJSON || route == .consoleLogin else {
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

    /// nil also for the console's paths while it is turned off.
    func route(of head: RequestHead) -> AdminRoute? {
        guard let route = AdminRoute(path: head.pathText) else { return nil }
        return route.isOfConsole && !shared.reporter.configuration.admin.hasConsole ? nil : route
    }

    enum Entry {
        /// nil: the path is open to strangers.
        case visitor(AdminDoor.Visitor?)
        case refused(Response)
    }

    /// The first check of all, so that an answer reveals no paths to strangers.
    func enter(_ head: RequestHead, _ route: AdminRoute?) -> Entry {
        let isOpen = route?.isOpen(head.method) ?? false
        // Browsers reach these paths, whoever sent them there.
        let isForBrowsers =
            route?.isForBrowsers ?? false
            || route == .readiness && head.fieldRange("sec-fetch-site") != nil
        if isForBrowsers, head.fieldRange("authorization") == nil {
            let settings = shared.reporter.configuration.admin
            if let problem = BrowserRules.hostProblem(head, settings)
                ?? (head.method == .post ? BrowserRules.originProblem(head) : nil)
            {
                return .refused(problem.response)
            }
        }
        // A login's token is judged with its body, once.
        let showsMore = route == .consoleStatus || route == .readiness
        if isOpen, !showsMore { return .visitor(nil) }
        guard let visitor = door.visitor(head) else {
            let shown = head.fieldRange("authorization").map { head.bytes[$0] }
            guard isOpen else { return .refused(door.strangerAnswer(head, shown)) }
            if let shown { door.recordGuess(shown, head) }
            return .visitor(nil)
        }
        guard visitor.session != nil else { return .visitor(visitor) }
        let settings = shared.reporter.configuration.admin
        guard settings.hasConsole else { return .refused(door.strangerAnswer(head, nil)) }
        let problem = BrowserRules.problem(
            with: head,
            changes: !head.method.isReading,
            settings
        )
        return problem.map { .refused($0.response) } ?? .visitor(visitor)
    }
}
