import HTTP
import Logs
package import Net
package import System

/// An SLS look-alike that listens on a port, for people without an account and for tests.
package final class SandboxServer: Sendable {
    private let sandbox: Sandbox
    private let server: HTTPServer
    private let clerk: Worker
    private let isStopped = Locked(false)

    package init(_ configuration: SandboxConfiguration, journal: Journal) throws {
        let sandbox = try Sandbox(configuration, journal: journal)
        self.sandbox = sandbox
        var settings = HTTPServer.Configuration(
            listen: configuration.listen,
            name: "sandbox",
            loops: configuration.loops,
            journal: journal
        )
        settings.tls = configuration.tls
        // Forwarders and tests open many connections from one address.
        settings.limits.connections = 4096
        settings.limits.connectionsPerAddress = settings.limits.connections
        settings.limits.inFlightBodyBytes = 256 << 20
        settings.limits.answerBytes = .max
        settings.limits.unsentAnswerBytes = .max
        server = try HTTPServer(settings) { SandboxHandler(sandbox) }
        do {
            clerk = try Worker("sandbox-late") { sandbox.late.run(for: sandbox) }
        } catch {
            server.stop(within: .zero)
            throw error
        }
        journal.info("sandbox listening", ["address": server.address.description])
    }

    package var address: ListenAddress { server.address }

    /// Releases held answers, finishes requests in progress and closes. Blocks until then.
    package func stop() {
        let isFirst = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        sandbox.late.stop()
        clerk.join()
        server.stop(within: .seconds(2))
    }

    deinit { stop() }
}

final class SandboxHandler: RequestHandler {
    private static let controlBytesMax = 128 * 1024

    private let sandbox: Sandbox
    private let inflater = Inflater()

    init(_ sandbox: Sandbox) {
        self.sandbox = sandbox
    }

    func admit(_ head: RequestHead) -> Admission {
        .accept(
            bodyBytesMax: Sandbox.isControl(head.pathText)
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
            var request = try ReceivedRequest(head)
            request.body = body
            sandbox.deliver(sandbox.answer(request, inflater: inflater), to: responder)
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
