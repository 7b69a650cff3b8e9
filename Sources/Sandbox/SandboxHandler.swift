import HTTP
import Logs

/// Passes requests of one server loop to the sandbox.
final class SandboxHandler: RequestHandler {
    private static let controlBytesMax = 128 * 1024

    private let sandbox: Sandbox
    private let inflater = Inflater()

    init(_ sandbox: Sandbox) {
        self.sandbox = sandbox
    }

    func admit(_ head: RequestHead) -> Admission {
        let isControl = ControlRoute(path: head.pathText) != nil
        return .accept(
            bodyBytesMax: isControl
                ? Self.controlBytesMax : sandbox.configuration.limits.wireBytesMax
        )
    }

    func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder: Responder
    ) {
        do {
            let request = try ReceivedRequest(head)
            let answer = sandbox.answer(request, body: body, inflater: inflater)
            sandbox.deliver(answer, to: responder)
        } catch {
            responder.send(sandbox.refuse(error))
        }
    }

    func answer(to problem: RequestProblem, head: RequestHead?, _ admitted: Admitted?) -> Response {
        sandbox.answer(to: problem)
    }

    // Each answer brings its own time and request id, because faults change them.
    func stamp(_ fields: inout [UInt8], of response: Response) {}
}
