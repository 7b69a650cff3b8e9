import CommitLog
package import Configuration
import JSON
import Queue
import SQLiteQueue
import System

/// `sluice restore`: writes the database of a shard into a file.
package struct ShardRestoreCommand: Sendable {
    private let inputs: ConfigurationInputs
    private let shard: String
    private let path: String
    private let acceptsPartial: Bool
    private let isJSON: Bool

    package init(
        _ inputs: ConfigurationInputs,
        of shard: String,
        to path: String,
        acceptsPartial: Bool,
        isJSON: Bool
    ) {
        self.inputs = inputs
        self.shard = shard
        self.path = path
        self.acceptsPartial = acceptsPartial
        self.isJSON = isJSON
    }

    package func run() -> CInt {
        ClusterAccess.use("restore", inputs) { access in run(access) }
    }

    private func run(_ access: ClusterAccess) -> CInt {
        let end: ListedShard
        do throws(CommitLogError) {
            // The log is not opened, because that may change its settings.
            guard let found = try access.cluster.shards().first(where: { $0.name == shard }) else {
                return access.complain(
                    "restore",
                    "there is no shard \(shard); list them with: sluice shards"
                )
            }
            end = found
        } catch {
            return access.complain("restore", error)
        }
        let display = ProgressLines("sluice restore")
        let restore = ShardRestore(access.cluster.log(of: shard), of: shard, to: path) { progress in
            display.show {
                "\(progress.bytes >> 20) MiB read, entry \(progress.entry) of about \(end.last)"
            }
        }
        do throws(QueueError) {
            let outcome = try restore.run(acceptsPartial: acceptsPartial)
            Terminal.say(isJSON ? document(outcome) : text(outcome))
            return outcome.damage == nil ? ExitCode.fine : ExitCode.failed
        } catch {
            return access.complain("restore", error)
        }
    }

    private func text(_ outcome: ShardRestore.Outcome) -> String {
        let report = outcome.report
        var text =
            "\(path) has \(report.logs) queued logs and \(report.deadLetters) dead letters in \(report.bytes) bytes, "
            + "as the shard \(shard) was at entry \(outcome.lastEntry)"
        if let damage = outcome.damage {
            text += "\nThe log is damaged behind that entry, so the file is not complete: \(damage)"
        }
        for finding in report.findings { text += "\n  wrong         \(finding.text)" }
        return text
    }

    private func document(_ outcome: ShardRestore.Outcome) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("path", path)
            json.member("shard", shard)
            json.member("last_entry", Int(clamping: outcome.lastEntry))
            json.member("schema", outcome.report.schema)
            json.member("bytes", outcome.report.bytes)
            json.member("logs", outcome.report.logs)
            json.member("dead_letters", outcome.report.deadLetters)
            json.member("damage", outcome.damage)
            json.array("findings") { json in
                for finding in outcome.report.findings { json.element(finding.text) }
            }
        }
        return json.text
    }
}

/// Lines on standard error for work that takes long, one every two seconds.
final class ProgressLines: Sendable {
    private static let pause = Duration.seconds(2)

    private let command: String
    private let next = Locked(Moment.now + pause)

    init(_ command: String) {
        self.command = command
    }

    func show(_ text: () -> String) {
        let isDue = next.withLock { next in
            guard next <= .now else { return false }
            next = .now + Self.pause
            return true
        }
        if isDue { Terminal.complain("\(command): \(text())") }
    }
}
