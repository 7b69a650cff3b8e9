package import Configuration
package import Gateway
import Net
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
        journal: Journal = .silent,
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        sandbox = try SandboxPartner(.silent)
        gateway = try Self.gateway(sandbox, directory, journal: journal, change)
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

    package var devices: TestClient { gateway.deviceClient }
    package var admin: TestClient { gateway.adminClient }

    /// The logs that arrived in a logstore.
    package func arrived(in logstore: String) throws -> String {
        try sandbox.client.get("/logs?logstore=\(logstore)").text
    }

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
    ) throws {
        try self.init(configuration, journal: journal) { _, _ in configuration }
    }

    /// One that opens its queue at once.
    package convenience init(
        _ configuration: GatewayConfiguration,
        journal: Journal,
        reading: @escaping ConfigurationReading
    ) throws {
        let queue = try QueueOpening(configuration, .none, journal).open { _ in false }
        guard let queue else { throw StartProblem("the queue cannot be opened yet") }
        try self.init(configuration, on: queue, journal: journal, reading: reading)
    }
}

extension SandboxPartner {
    package var client: TestClient { TestClient(address: address) }

    /// Has each write answered in this way.
    package func fail(_ fault: String = #"{"status":503,"code":"ServerBusy"}"#) throws {
        let status = try client.post("/faults", fault.utf8).status
        precondition(status < 300, "the sandbox takes no such fault")
    }

    package func recover() throws {
        let status = try client.send("DELETE", "/faults").status
        precondition(status < 300, "the sandbox keeps its faults")
    }
}

extension TemporaryDirectory {
    /// A gateway's file, with what each needs here and so much more.
    package func gatewayFile(_ more: String) -> String {
        file(
            "sluice.yaml",
            """
            listen: 127.0.0.1:0
            data_dir: \(path)/data
            admin: {listen: "127.0.0.1:0", token: "\(SandboxedGateway.token)"}
            \(more)
            """
        )
    }
}

extension Gateway {
    package var deviceClient: TestClient { TestClient(address: deviceAddress) }
    package var adminClient: TestClient { TestClient(address: adminAddress) }

    /// Asks the admin listener with the token.
    package func ask(
        _ method: String,
        _ path: String,
        _ body: String = ""
    ) throws -> TestAnswer {
        try adminClient.send(
            method,
            path,
            Array(body.utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
    }

    package func ask(_ path: String) throws -> TestAnswer { try ask("GET", path) }

    /// Applies the present configuration with a change.
    package func reload(changing change: (inout GatewayConfiguration) throws -> Void) rethrows {
        var new = configuration.withLock { $0 }
        try change(&new)
        reload(new)
    }
}
