import Configuration
import HTTP
import Net
import System
import TestSupport

@testable import CLI

/// A listener that says "here", with or without TLS.
final class SecureListener {
    static let made = TestCertificates.shared
    static let authority = made.certificate("authority")

    private final class Handler: RequestHandler {
        func admit(_ head: RequestHead) -> Admission { .accept(bodyBytesMax: 100) }

        func handle(
            _ head: RequestHead,
            _ admitted: Admitted?,
            body: UnsafeRawBufferPointer,
            responder: Responder
        ) {
            responder.send(Self.answer(200, head.peer.clientName ?? "here"))
        }

        func answer(
            to problem: RequestProblem,
            head: RequestHead?,
            _ admitted: Admitted?
        ) -> Response {
            Self.answer(400, problem.reason)
        }

        private static func answer(_ status: Int, _ text: String) -> Response {
            Response(status: status, contentType: "text/plain; charset=utf-8", text: text)
        }

        func stamp(_ fields: inout [UInt8], of response: Response) {}
    }

    private let server: HTTPServer

    /// `name` is whose certificate it shows; nil speaks plain HTTP.
    init(
        _ name: String?,
        clients: TLSSettings.ClientCertificates = .none
    ) throws {
        let context = try name.map {
            try TLSContext(
                TLSSettings(certificates: [Self.made.files($0)], clientCertificates: clients)
            )
        }
        server = try HTTPServer(
            .init(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                loops: 1,
                tls: context,
                journal: .silent
            )
        ) { Handler() }
    }

    deinit { server.stop(within: .zero) }

    /// What a command that asks hears: the answer, or why there is none.
    func heard(
        _ tls: AdminTLS?,
        as host: String? = nil,
        by method: AdminRequest.Method = .get
    ) -> String {
        let address = ListenAddress(host: host ?? "127.0.0.1", port: server.address.port)
        let client = AdminClient(
            AdminAccess(address: address, token: nil, tls: tls),
            patience: .seconds(20)
        )
        do throws(AdminClient.Unreachable) {
            return try client.ask(AdminRequest(method, "/admin/status")).text
        } catch {
            return error.description
        }
    }
}
