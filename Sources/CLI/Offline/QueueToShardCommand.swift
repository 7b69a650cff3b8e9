package import Configuration
import Fleet
import JSON
import SQLiteQueue
import System

/// `sluice shards add`: makes the queue of a stopped gateway a shard.
package struct QueueToShardCommand: Sendable {
    private let inputs: ConfigurationInputs
    private let directory: String
    private let isJSON: Bool

    package init(_ inputs: ConfigurationInputs, from directory: String, isJSON: Bool) {
        self.inputs = inputs
        self.directory = directory
        self.isJSON = isJSON
    }

    package func run() -> CInt {
        ClusterAccess.use("shards add", inputs) { access in run(access) }
    }

    private func run(_ access: ClusterAccess) -> CInt {
        let display = ProgressLines("sluice shards add")
        let addition = QueueToShard(access.cluster, from: directory) { progress in
            display.show { "\(progress.sent >> 20) of \(progress.bytes >> 20) MiB sent" }
        }
        do throws(ShardProblem) {
            let outcome = try addition.run()
            Terminal.say(isJSON ? document(outcome) : text(outcome))
            return ExitCode.fine
        } catch {
            return access.complain("shards add", error)
        }
    }

    private func text(_ outcome: QueueToShard.Outcome) -> String {
        var text =
            "\(directory) is the shard \(outcome.shard) now; a running gateway of the cluster adopts it within half a "
            + "minute"
        if let report = outcome.report {
            text += "\nIt has \(report.logs) queued logs and \(report.deadLetters) dead letters."
        }
        text +=
            "\nDecisions made at run time, such as pauses and pushed credentials, are not in it: make them again. The "
            + "queue as it was is \(outcome.aside), which is not needed any more."
        if outcome.hasAnother {
            text +=
                "\nA gateway has made another queue in \(directory) meanwhile: run this command again."
        }
        return text
    }

    private func document(_ outcome: QueueToShard.Outcome) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("shard", outcome.shard)
            json.member("aside", outcome.aside)
            json.member("logs", outcome.report.map { Int($0.logs) })
            json.member("dead_letters", outcome.report?.deadLetters)
            json.member("has_another", outcome.hasAnother)
        }
        return json.text
    }
}
