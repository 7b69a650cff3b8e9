import CommitLog
package import Configuration
import NATS
import Queue
import System

/// `sluice check`: reads the configuration and prints a summary or its errors.
package struct Check: Sendable {
    private let inputs: ConfigurationInputs
    private let isOffline: Bool

    /// With `isOffline` it asks no broker.
    package init(_ inputs: ConfigurationInputs, isOffline: Bool = false) {
        self.inputs = inputs
        self.isOffline = isOffline
    }

    package func run() -> CInt {
        let configuration: GatewayConfiguration
        do throws(ConfigurationProblems) {
            configuration = try .read(inputs)
        } catch {
            Terminal.complain(error.description)
            return ExitCode.wrong
        }
        Terminal.say(ConfigurationSummary.text(configuration))
        guard !isOffline, configuration.queue.jetStream != nil else { return ExitCode.fine }
        return look(configuration.queue)
    }

    /// Asks the brokers if the queue's commit log is there, or could be made.
    private func look(_ queue: QueueSettings) -> CInt {
        guard let settings = queue.jetStream else { return ExitCode.fine }
        do {
            let client = try NATSClient(settings.client, journal: .silent)
            try client.waitUntilConnected(atMost: .seconds(5))
            let log = JetStreamLog(
                client,
                settings,
                queueBytes: queue.bytesMax,
                isSynced: queue.durability == .full
            )
            Terminal.say("  brokers      \(try log.look())")
            return ExitCode.fine
        } catch {
            Terminal.complain("sluice check: queue.jetstream: \(error)")
            return ExitCode.failed
        }
    }
}
