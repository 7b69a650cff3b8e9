package import Configuration
package import Gateway
import Operations
import Queue
package import System
package import TestSupport

/// A whole gateway in this process with a sandbox in place of SLS, on ports and a directory of its
/// own.
package final class SandboxedGateway: Sendable {
    package static let token = "0123456789abcdef0123456789abcdef"

    package let directory = TemporaryDirectory()
    package let sandbox: SandboxPartner
    package let gateway: Gateway

    package init(
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        sandbox = try SandboxPartner(.silent)
        gateway = try Self.gateway(sandbox, directory, change)
    }

    /// A gateway whose reloads read the configuration again and change it in the same way.
    package static func gateway(
        _ sandbox: SandboxPartner,
        _ directory: TemporaryDirectory,
        journal: Journal = .silent,
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> Gateway {
        let inputs = inputs(directory)
        return try Gateway(
            try configuration(sandbox, directory, change),
            journal: journal
        ) { decided, _ throws(ConfigurationProblems) in
            var inputs = inputs
            inputs.decided = decided
            var read = sandbox.redirected(try .read(inputs))
            read.destinations[0].transfer.packet.age = .milliseconds(10)
            change(&read)
            return read
        }
    }

    private static func inputs(_ directory: TemporaryDirectory) -> ConfigurationInputs {
        ConfigurationInputs(
            options: [
                "--listen": "127.0.0.1:0", "--admin-listen": "127.0.0.1:0",
                "--data-dir": directory.path + "/data",
            ],
            environment: ["SLUICE_ADMIN_TOKEN": token],
            isSandboxed: true
        )
    }

    package static func configuration(
        _ sandbox: SandboxPartner,
        _ directory: TemporaryDirectory,
        _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> GatewayConfiguration {
        var configuration = sandbox.redirected(try .read(inputs(directory)))
        configuration.destinations[0].transfer.packet.age = .milliseconds(10)
        change(&configuration)
        return configuration
    }

    deinit {
        gateway.stop(within: .zero)
        sandbox.stop()
    }

    package var devices: TestClient { TestClient(address: gateway.deviceAddress) }
    package var admin: TestClient { TestClient(address: gateway.adminAddress) }

    package func admin(_ path: String) throws -> TestAnswer { try admin.ask("GET", path) }

    /// Waits until the ledger counts so many logs as delivered.
    package func delivered(_ count: Int64, within limit: Duration = .seconds(20)) -> Bool {
        eventually(within: limit) { gateway.report.queue.ledger.delivered >= count }
    }
}

extension TestClient {
    /// Sends a JSON text, or none, as who has a token of the admin API.
    package func ask(
        _ method: String,
        _ path: String,
        _ body: String = "",
        token: String = SandboxedGateway.token,
        ifMatch version: String? = nil
    ) throws -> TestAnswer {
        let (bearer, json) = ("Bearer \(token)", "application/json")
        var fields: KeyValuePairs = ["authorization": bearer, "content-type": json]
        if let version {
            fields = ["authorization": bearer, "content-type": json, "if-match": version]
        }
        return try send(method, path, Array(body.utf8), fields)
    }
}

extension Gateway {
    package var admin: TestClient { TestClient(address: adminAddress) }

    /// A gateway whose reloads read the same configuration.
    package convenience init(
        _ configuration: GatewayConfiguration,
        journal: Journal
    ) throws(StartProblem) {
        try self.init(configuration, journal: journal) { _, _ in configuration }
    }

    /// One that opens its queue at once.
    package convenience init(
        _ configuration: GatewayConfiguration,
        journal: Journal,
        reading: @escaping ConfigurationReading
    ) throws(StartProblem) {
        let queue = try QueueOpening(configuration, journal).open { _ in false }
        guard let queue else { throw StartProblem("the queue cannot be opened yet") }
        try self.init(configuration, on: queue, journal: journal, reading: reading)
    }
}
