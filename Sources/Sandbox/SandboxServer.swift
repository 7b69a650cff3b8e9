import HTTP
package import Net
package import System

/// An SLS look-alike that listens on a port, for people without an account and for tests.
package final class SandboxServer: Sendable {
    private let sandbox: Sandbox
    private let server: HTTPServer
    private let clerk: Worker
    private let isStopped = Locked(false)

    /// Starts listening.
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

    /// The address with its actual port.
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
