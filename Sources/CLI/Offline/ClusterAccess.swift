import CommitLog
import Configuration
import System

/// The cluster of a configuration file, for commands that need no running gateway.
struct ClusterAccess {
    let cluster: any ShardCluster
    let queue: QueueSettings

    /// How errors name the servers.
    var name: String { "queue.\(queue.engine.rawValue)" }

    /// Reads the configuration like `sluice check`. Says what is wrong and returns the exit code if it cannot be used.
    static func open(
        _ command: String,
        _ given: ConfigurationInputs
    ) -> Result<ClusterAccess, ExitProblem> {
        var inputs = given
        // The servers are asked without the keys of the destinations.
        inputs.isSandboxed = true
        let queue: QueueSettings
        do throws(ConfigurationProblems) {
            queue = try GatewayConfiguration.read(inputs).queue
        } catch {
            Terminal.complain(error.description)
            return .failure(ExitProblem(code: ExitCode.wrong))
        }
        do throws(SystemError) {
            guard let cluster = try queue.cluster(.silent, patience: .seconds(5)) else {
                Terminal.complain(
                    "sluice \(command): queue.engine is sqlite, which has no shards; name the configuration of a "
                        + "cluster with --config"
                )
                return .failure(ExitProblem(code: ExitCode.wrong))
            }
            return .success(ClusterAccess(cluster: cluster, queue: queue))
        } catch {
            Terminal.complain("sluice \(command): queue.\(queue.engine.rawValue): \(error)")
            return .failure(ExitProblem(code: ExitCode.failed))
        }
    }

    /// Tells why a command failed.
    func complain(_ command: String, _ reason: some CustomStringConvertible) -> CInt {
        Terminal.complain("sluice \(command): \(name): \(TerminalText.sentence("\(reason)"))")
        return ExitCode.failed
    }
}

/// The reason was told; what is left is the exit code.
struct ExitProblem: Error {
    let code: CInt
}
