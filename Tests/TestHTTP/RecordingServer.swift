package import HTTP
package import Net
import System

/// An HTTP server that keeps each request and answers as the test says, or holds it until
/// `release`.
package final class RecordingServer: Sendable {
    package struct Request: Sendable {
        package let method: RequestHead.Method
        package let path: String
        package let query: String
        package let fields: [String: String]
        package let body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    private let state = Locked<(requests: [Request], held: [Responder])>(([], []))
    private let server: HTTPServer
    private let isSecure: Bool

    /// The closure gets the request and its number from 0; nil holds the request.
    package init(
        tls: TLSContext? = nil,
        on address: ListenAddress = ListenAddress(host: "127.0.0.1", port: 0),
        _ answer: @escaping @Sendable (Request, Int) -> Response?
    ) throws {
        isSecure = tls != nil
        let state = state
        server = try HTTPServer(
            .init(
                listen: address,
                loops: 1,
                tls: tls,
                journal: .silent
            )
        ) {
            Handler { request, responder in
                let number = state.withLock { state in
                    state.requests.append(request)
                    return state.requests.count - 1
                }
                if let answer = answer(request, number) {
                    responder.send(answer)
                } else {
                    state.withLock { $0.held.append(responder) }
                }
            }
        }
    }

    package var url: String { "\(isSecure ? "https" : "http")://127.0.0.1:\(server.address.port)" }
    package var port: UInt16 { server.address.port }
    package var requests: [Request] { state.withLock(\.requests) }

    /// Answers the requests that are held.
    package func release(_ response: Response) {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        held.forEach { $0.send(response) }
    }

    package func stop() {
        server.stop(within: .zero)
    }

    private final class Handler: RequestHandler {
        private let take: (Request, Responder) -> Void
        private static let names: [StaticString] = [
            "authorization", "idempotency-key", "content-type", "host",
        ]

        init(_ take: @escaping (Request, Responder) -> Void) {
            self.take = take
        }

        func admit(_ head: RequestHead) -> Admission { .accept(bodyBytesMax: 1 << 20) }

        func handle(
            _ head: RequestHead,
            _ admitted: Admitted?,
            body: UnsafeRawBufferPointer,
            responder: Responder
        ) {
            var fields: [String: String] = [:]
            for name in Self.names { fields["\(name)"] = head.field(name) }
            take(
                Request(
                    method: head.method,
                    path: head.pathText,
                    query: head.queryText ?? "",
                    fields: fields,
                    body: Array(body)
                ),
                responder
            )
        }

        func answer(
            to problem: RequestProblem,
            head: RequestHead?,
            _ admitted: Admitted?
        ) -> Response {
            Response(status: problem.status)
        }

        func stamp(_ fields: inout [UInt8], of response: Response) {}
    }
}
