package import Configuration
import Fleet
import JSON
import SQLiteQueue
import System

/// `sluice restore --take`: makes a shard the local queue of a directory.
package struct ShardToQueueCommand: Sendable {
    private let inputs: ConfigurationInputs
    private let shard: String
    private let directory: String
    private let isJSON: Bool

    package init(
        _ inputs: ConfigurationInputs,
        of shard: String,
        to directory: String,
        isJSON: Bool
    ) {
        self.inputs = inputs
        self.shard = shard
        self.directory = directory
        self.isJSON = isJSON
    }

    package func run() -> CInt {
        ClusterAccess.use("restore", inputs) { access in run(access) }
    }

    private func run(_ access: ClusterAccess) -> CInt {
        Terminal.complain(
            "sluice restore: waits up to 15 s, until it is certain that no gateway has the shard"
        )
        do throws(ShardProblem) {
            let display = ProgressLines("sluice restore")
            let take = ShardToQueue(access.cluster, shard, to: directory) { progress in
                display.show { "\(progress.bytes >> 20) MiB read, entry \(progress.entry)" }
            }
            let outcome = try take.run()
            Terminal.say(isJSON ? document(outcome) : text(outcome))
            return ExitCode.fine
        } catch {
            return access.complain("restore", error)
        }
    }

    private func text(_ outcome: ShardToQueue.Outcome) -> String {
        var text =
            "\(directory)/queue.db has the shard \(shard) now, and the cluster has it no more"
        if let report = outcome.report {
            text += "\nIt has \(report.logs) queued logs and \(report.deadLetters) dead letters."
        }
        return text + "\nStart a gateway with queue.engine: sqlite and this data_dir."
    }

    private func document(_ outcome: ShardToQueue.Outcome) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("shard", shard)
            json.member("path", "\(directory)/queue.db")
            json.member("logs", outcome.report.map { Int($0.logs) })
            json.member("dead_letters", outcome.report?.deadLetters)
        }
        return json.text
    }
}
