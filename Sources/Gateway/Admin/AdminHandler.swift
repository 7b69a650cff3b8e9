package import HTTP
package import System

/// Answers operators and their tools.
package final class AdminHandler: RequestHandler {
    package struct Shared: Sendable {
        let token: Locked<AdminToken>
        let report: @Sendable () -> GatewayReport

        package init(token: Locked<AdminToken>, report: @escaping @Sendable () -> GatewayReport) {
            self.token = token
            self.report = report
        }
    }

    private let shared: Shared
    private var stamp = Stamp(mint: ReceiptMint())

    package init(_ shared: Shared) {
        self.shared = shared
    }

    package func admit(_ head: RequestHead) -> Admission {
        let path = head.pathText
        let isOpen = path == "/healthz" || path == "/readyz"
        // Before anything else, so that a stranger does not learn which paths there are.
        guard isOpen || isAuthorized(head) else {
            var response = refused(401, "Unauthorized", "a bearer token is needed, see admin.token")
            response.closes = true
            return .refuse(response)
        }
        guard ["/healthz", "/readyz", "/metrics", "/admin/status"].contains(path) else {
            return .refuse(
                refused(
                    404,
                    "PathNotExist",
                    "no such path; there are /healthz, /readyz, /metrics and /admin/status"
                )
            )
        }
        guard head.method == .get || head.method == .head else {
            var response = refused(405, "InvalidMethod", "this path answers to GET, HEAD")
            response.fields.append(("allow", "GET, HEAD"))
            return .refuse(response)
        }
        guard !head.announcesBody else {
            return .refuse(ErrorShape.plain.response(.unwantedBody))
        }
        return .accept(bodyBytesMax: 0)
    }

    package func handle(
        _ head: RequestHead,
        body: UnsafeRawBufferPointer,
        responder: Responder
    ) {
        switch head.pathText {
        case "/healthz":
            responder.send(Response(status: 200, contentType: "text/plain", text: "ok\n"))
        case "/readyz":
            let report = shared.report()
            responder.send(
                Response(
                    status: report.reasonsAgainstTraffic.isEmpty ? 200 : 503,
                    contentType: "application/json",
                    text: report.readinessDocument
                )
            )
        case "/metrics":
            responder.send(
                Response(
                    status: 200,
                    contentType: MetricsPage.contentType,
                    text: shared.report().metrics
                )
            )
        default:
            responder.send(
                Response(
                    status: 200,
                    contentType: "application/json",
                    text: shared.report().statusDocument
                )
            )
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
