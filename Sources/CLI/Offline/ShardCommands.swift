import CommitLog
import Configuration
import Fleet
import JSON
import Queue
import Rendering
import SQLiteQueue
import System

/// The commands for the shards of a cluster, which need no running gateway.
struct ShardCommands {
    /// Gateways report every three seconds: a shard that is made or removed now is not strange.
    private static let secondLookAfter = Duration.seconds(3)

    let inputs: ConfigurationInputs
    let isJSON: Bool

    /// `sluice shards`: lists the shards.
    func list() -> CInt {
        ClusterAccess.use("shards", inputs) { access in
            var listing = try ShardListing.read(access.cluster)
            if listing.isStrange, let wake = try? WakeUp() {
                wake.wait(timeout: Self.secondLookAfter)
                listing = try ShardListing.read(access.cluster)
            }
            return say(.shards) { json in
                json.objects("shards", listing.rows) { $0.shard($1) }
            }
        }
    }

    /// `sluice shards add`: makes the queue of a stopped gateway a shard.
    func add(_ directory: String) -> CInt {
        ClusterAccess.use("shards add", inputs) { access in
            let display = ProgressLines("sluice shards add")
            let addition = QueueToShard(access.cluster, from: directory) { progress in
                display.show { "\(progress.sent >> 20) of \(progress.bytes >> 20) MiB sent" }
            }
            let outcome = try addition.run()
            return say(.queueToShard) { json in
                json.member("shard", outcome.shard)
                json.member("directory", directory)
                json.member("aside", outcome.aside)
                json.content(outcome.report)
                json.member("has_another", outcome.hasAnother)
            }
        }
    }

    /// `sluice restore --take`: makes a shard the local queue of a directory.
    func take(_ shard: String, to directory: String) -> CInt {
        ClusterAccess.use("restore", inputs) { access in
            Terminal.complain(
                "sluice restore: waits up to 15 s, until it is certain that no gateway has the shard"
            )
            let display = ProgressLines("sluice restore")
            let take = ShardToQueue(access.cluster, shard, to: directory) { progress in
                display.show { "\(progress.bytes >> 20) MiB read, entry \(progress.entry)" }
            }
            let outcome = try take.run()
            return say(.shardToQueue) { json in
                json.member("shard", shard)
                json.member("path", "\(directory)/queue.db")
                json.content(outcome.report)
            }
        }
    }

    /// `sluice restore`: writes the database of a shard into a file.
    func restore(_ shard: String, to path: String, acceptsPartial: Bool) -> CInt {
        ClusterAccess.use("restore", inputs) { access in
            // The log is not opened, because that may change its settings.
            guard let found = try access.cluster.shards().first(where: { $0.name == shard }) else {
                return access.complain("there is no shard \(shard); list them with: sluice shards")
            }
            let display = ProgressLines("sluice restore")
            let log = access.cluster.log(of: shard)
            let restore = RestoreCommand(log, of: shard, to: path) { progress in
                display.show {
                    "\(progress.bytes >> 20) MiB read, entry \(progress.entry) of about \(found.last)"
                }
            }
            let outcome = try restore.run(acceptsPartial: acceptsPartial)
            let code = outcome.damage == nil ? ExitCode.fine : ExitCode.failed
            return say(.restore, code) { json in
                json.member("path", path)
                json.member("shard", shard)
                json.member("last_entry", Int(clamping: outcome.lastEntry))
                json.member("schema", outcome.report.schema)
                json.member("bytes", outcome.report.bytes)
                json.content(outcome.report)
                json.member("damage", outcome.damage)
                json.array("findings") { json in
                    for finding in outcome.report.findings { json.element(finding.text) }
                }
            }
        }
    }

    private func say(
        _ view: View,
        _ code: CInt = ExitCode.fine,
        _ members: (inout JSONWriter) -> Void
    ) -> CInt {
        var json = JSONWriter()
        json.object(members)
        Terminal.say(view.line(json.text, asJSON: isJSON))
        return code
    }
}

extension JSONWriter {
    fileprivate mutating func content(_ report: InspectionReport?) {
        member("logs", report.map { Int($0.logs) })
        member("dead_letters", report.map { Int($0.deadLetters) })
    }

    fileprivate mutating func shard(_ row: ShardListing.Row) {
        member("name", row.name)
        member("owner", row.owner?.node)
        member("state", row.state)
        member("epoch", row.owner.flatMap { $0.epoch > 0 ? $0.epoch : nil })
        member("role", row.owner.map { $0.isHome ? "home" : "adopted" })
        member("last_entry", row.last.map { Int(clamping: $0) })
        texts("findings", row.findings)
    }
}

extension ShardListing.Row {
    /// Scripts read these words.
    fileprivate var state: String {
        guard last != nil else { return "missing" }
        guard let owner else { return "unclaimed" }
        if owner.isStopped { return "stopped" }
        return owner.isReading ? "reading" : "owned"
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

/// The cluster of a configuration file, for commands that need no running gateway.
struct ClusterAccess {
    let cluster: any ClusterEngine
    private let start: String

    /// Reads the configuration like `sluice check` and runs the command, or says what is wrong.
    static func use(
        _ command: String,
        _ given: ConfigurationInputs,
        _ body: (ClusterAccess) throws -> CInt
    ) -> CInt {
        var inputs = given
        // These commands use the queue's servers only, so destinations need no keys.
        inputs.isSandboxed = true
        guard let queue = configured(try GatewayConfiguration.read(inputs).queue) else {
            return ExitCode.wrong
        }
        // Errors name the servers.
        let start = "sluice \(command): queue.\(queue.engine.rawValue): "
        do throws(SystemError) {
            guard let cluster = try queue.cluster(.silent, patience: .seconds(5)) else {
                Terminal.complain(
                    "sluice \(command): queue.engine is sqlite, which has no shards; name the configuration of a "
                        + "cluster with --config"
                )
                return ExitCode.wrong
            }
            let access = ClusterAccess(cluster: cluster, start: start)
            do {
                return try body(access)
            } catch {
                return access.complain("\(error)")
            }
        } catch {
            Terminal.complain("\(start)\(error)")
            return ExitCode.failed
        }
    }

    /// Tells why a command failed.
    fileprivate func complain(_ reason: String) -> CInt {
        Terminal.complain(start + TerminalText.sentence(reason))
        return ExitCode.failed
    }
}
