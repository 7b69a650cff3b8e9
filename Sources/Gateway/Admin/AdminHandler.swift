package import HTTP
package import Queue
package import System

/// Answers operators and their tools.
package final class AdminHandler: RequestHandler {
    package struct Shared: Sendable {
        let token: Locked<AdminToken>
        let deadLetters: any DeadLetters
        let report: @Sendable () -> GatewayReport

        package init(
            token: Locked<AdminToken>,
            deadLetters: any DeadLetters,
            report: @escaping @Sendable () -> GatewayReport
        ) {
            self.token = token
            self.deadLetters = deadLetters
            self.report = report
        }
    }

    private let shared: Shared
    private let deadLetters: DeadLetterDesk
    private var stamp = Stamp(mint: ReceiptMint())

    package init(_ shared: Shared) {
        self.shared = shared
        deadLetters = DeadLetterDesk(shared.deadLetters)
    }

    package func admit(_ head: RequestHead) -> Admission {
        let route = AdminRoute(path: head.pathText)
        // Before anything else, so that a stranger does not learn which paths there are.
        guard route?.isOpen == true || isAuthorized(head) else {
            var response = refused(401, "Unauthorized", "a bearer token is needed, see admin.token")
            response.closes = true
            return .refuse(response)
        }
        guard let route else { return .refuse(refused(404, "PathNotExist", AdminRoute.hint)) }
        guard route.methods.contains(head.method) else {
            let names = route.methodNames
            var response = refused(405, "InvalidMethod", "this path answers to \(names)")
            response.fields.append(("allow", names))
            return .refuse(response)
        }
        let bodyBytesMax = route.bodyBytesMax(head.method)
        guard bodyBytesMax > 0 || !head.announcesBody else {
            return .refuse(ErrorShape.plain.response(.unwantedBody))
        }
        return .accept(bodyBytesMax: bodyBytesMax)
    }

    package func handle(
        _ head: RequestHead,
        body: UnsafeRawBufferPointer,
        responder: Responder
    ) {
        guard let route = AdminRoute(path: head.pathText) else {
            return responder.send(refused(404, "PathNotExist", AdminRoute.hint))
        }
        switch route {
        case .health: responder.send(Response(text: "ok\n"))
        case .readiness:
            let report = shared.report()
            let status = report.reasonsAgainstTraffic.isEmpty ? 200 : 503
            responder.send(Response(status, json: report.readinessDocument))
        case .metrics:
            responder.send(
                Response(
                    status: 200,
                    contentType: MetricsPage.contentType,
                    text: shared.report().metrics
                )
            )
        case .status:
            let report = shared.report()
            responder.send(
                head.wantsText
                    ? Response(text: report.statusText) : Response(json: report.statusDocument)
            )
        case .deadLetters, .deadLetterExport, .deadLetterReplay, .deadLetterPurge, .deadLetter:
            deadLetters.handle(route, head, body, responder)
        }
    }

    package func answer(to problem: RequestProblem, head: RequestHead?) -> Response {
        ErrorShape.plain.response(Refusal(problem))
    }

    package func stamp(_ fields: inout [UInt8], of response: Response) {
        fields += Array("cache-control: no-store\r\n".utf8)
        stamp.apply(to: &fields, of: response)
    }

    private func isAuthorized(_ head: RequestHead) -> Bool {
        guard let range = head.fieldRange("authorization") else { return false }
        let token = shared.token.withLock { $0 }
        return token.admits(head.bytes[range])
    }

    private func refused(_ status: Int, _ code: String, _ reason: String) -> Response {
        let fields = status == 401 ? [("www-authenticate", "Bearer realm=\"sluice\"")] : []
        return ErrorShape.plain.response(Refusal(status, code, reason), fields: fields)
    }
}

extension Response {
    /// For people.
    init(_ status: Int = 200, text: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", text: text)
    }

    /// For scripts.
    init(_ status: Int = 200, json: String) {
        self.init(status: status, contentType: "application/json", text: json)
    }
}
