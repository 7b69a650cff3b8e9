import CommitLog
import Configuration
import System

/// The cluster of a configuration file, for commands that need no running gateway.
struct ClusterAccess {
    let cluster: any ClusterEngine
    let queue: QueueSettings

    /// How errors name the servers.
    var name: String { "queue.\(queue.engine.rawValue)" }

    /// Reads the configuration like `sluice check`, and runs the command. Says what is wrong if it
    /// cannot be used. Returns the exit code.
    static func use(
        _ command: String,
        _ given: ConfigurationInputs,
        _ body: (ClusterAccess) -> CInt
    ) -> CInt {
        var inputs = given
        // As in the sandbox, destinations need no keys: these commands talk to the queue's servers
        // only.
        inputs.isSandboxed = true
        guard let queue = configured(try GatewayConfiguration.read(inputs).queue) else {
            return ExitCode.wrong
        }
        do throws(SystemError) {
            guard let cluster = try queue.cluster(.silent, patience: .seconds(5)) else {
                Terminal.complain(
                    "sluice \(command): queue.engine is sqlite, which has no shards; name the configuration of a "
                        + "cluster with --config"
                )
                return ExitCode.wrong
            }
            return body(ClusterAccess(cluster: cluster, queue: queue))
        } catch {
            Terminal.complain("sluice \(command): queue.\(queue.engine.rawValue): \(error)")
            return ExitCode.failed
        }
    }

    /// Tells why a command failed.
    func complain(_ command: String, _ reason: some CustomStringConvertible) -> CInt {
        Terminal.complain("sluice \(command): \(name): \(TerminalText.sentence("\(reason)"))")
        return ExitCode.failed
    }
}
