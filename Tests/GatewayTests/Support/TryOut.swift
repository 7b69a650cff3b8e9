import Net
import Queue
import SLS
import Sandbox
import System
import TestConfiguration

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

/// A whole gateway with a sandbox behind it, on ports and a directory of its own.
final class TryOut: Sendable {
    static let token = "0123456789abcdef0123456789abcdef"

    let directory = TemporaryDirectory()
    let sandbox: SandboxPartner
    let gateway: Gateway

    init(
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        sandbox = try SandboxPartner(.silent)
        gateway = try Self.gateway(sandbox, directory, change)
    }

    /// One that reads its configuration anew as the program does, with the same changes.
    static func gateway(
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

    static func configuration(
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

    var devices: Client { Client(address: gateway.deviceAddress) }
    var admin: Client { Client(address: gateway.adminAddress) }

    func admin(_ path: String) throws -> Client.Answer {
        try admin.get(path, ["authorization": "Bearer \(Self.token)"])
    }

    /// Waits until the ledger says that so many logs are delivered.
    func delivered(_ count: Int64, within limit: Duration = .seconds(20)) -> Bool {
        eventually(within: limit) { gateway.report.queue.ledger.delivered >= count }
    }
}

/// Looks again and again.
func eventually(within limit: Duration = .seconds(20), _ condition: () -> Bool) -> Bool {
    let deadline = Moment.now + limit
    guard let clock = try? WakeUp() else { return false }
    while Moment.now < deadline {
        if condition() { return true }
        clock.wait(timeout: .milliseconds(10))
    }
    return condition()
}

extension Gateway {
    /// One whose configuration is always the same.
    convenience init(_ configuration: GatewayConfiguration, journal: Journal) throws(StartProblem) {
        try self.init(configuration, journal: journal) { _, _ in configuration }
    }
}
