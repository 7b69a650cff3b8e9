import CommitLog
import Configuration
import Crypto
import Delivery
import Fleet
import System

/// `sluice check`: reads the configuration and prints a summary or its errors.
struct Check {
    let inputs: ConfigurationInputs
    /// Asks no server.
    let isOffline: Bool

    func run() -> CInt {
        guard let configuration = configured(try GatewayConfiguration.read(inputs)) else {
            return ExitCode.wrong
        }
        if let refusal = configuration.destinations.lazy.compactMap(\.fileRefusal).first {
            Terminal.complain("sluice check: \(refusal)")
            return ExitCode.wrong
        }
        Terminal.say(ConfigurationSummary.text(configuration))
        return isOffline ? ExitCode.fine : look(configuration)
    }

    /// Asks the servers of the engine if the queue's commit logs are there, or could be made.
    private func look(_ configuration: GatewayConfiguration) -> CInt {
        let queue = configuration.queue
        do {
            guard let cluster = try queue.cluster(.silent, patience: .seconds(5)) else {
                return ExitCode.fine
            }
            Terminal.say("  commit log   \(try cluster.check())")
            guard let node = queue.node else { return ExitCode.fine }
            let key = try configuration.encryptionKey.map { try SealingKey($0) }
            let neighbours = try OtherGatewaysCheck(
                of: node,
                in: cluster,
                keyFingerprint: key?.clusterFingerprint,
                destinations: configuration.destinations.map(\.name)
            )
            Terminal.say("  cluster      \(neighbours.text)")
            guard let problem = neighbours.problem else { return ExitCode.fine }
            Terminal.complain("sluice check: queue.\(queue.engine.rawValue): \(problem)")
            return ExitCode.failed
        } catch {
            Terminal.complain("sluice check: queue.\(queue.engine.rawValue): \(error)")
            return ExitCode.failed
        }
    }
}
