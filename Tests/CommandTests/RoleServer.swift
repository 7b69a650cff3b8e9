import HTTP
import Net
import System
import TestSupport

/// Gives credentials to whoever asks, as STS does, and as services do that take a URI; or refuses
/// them, repeating all that it was told.
final class RoleServer {
    private let server: HTTPServer

    /// `members` are those of a credential.
    init(members: String) throws {
        server = try HTTPServer(
            .init(listen: ListenAddress(host: "127.0.0.1", port: 0), loops: 1, journal: .silent)
        ) { Handler(members: members) }
    }

    var port: UInt16 { server.address.port }

    func stop() {
        server.stop(within: .zero)
    }

    private final class Handler: RequestHandler {
        let members: String

        init(members: String) {
            self.members = members
        }

        func admit(_ head: RequestHead) -> Admission { .accept(bodyBytesMax: 64 << 10) }

        func handle(
            _ head: RequestHead,
            _ admitted: Admitted?,
            body: UnsafeRawBufferPointer,
            responder: Responder
        ) {
            let told =
                String(decoding: head.bytes[head.path], as: UTF8.self) + "?"
                + (head.queryText ?? "") + " " + String(decoding: body, as: UTF8.self)
            let isRefused = told.contains("refuse")
            let text =
                isRefused
                ? #"{"Code":"NoPermission","Message":"you said \#(told)","RequestId":"R-1"}"#
                : told.contains("Action=AssumeRole")
                    ? #"{"RequestId":"R-1","Credentials":{\#(members)}}"# : "{\(members)}"
            responder.send(
                Response(
                    status: isRefused ? 403 : 200,
                    contentType: "application/json",
                    text: text
                )
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
