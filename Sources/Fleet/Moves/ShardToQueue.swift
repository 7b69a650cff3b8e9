package import CommitLog
import Queue
package import SQLiteQueue
import System

/// `sluice restore --take`: makes a shard that no gateway has the local queue of a directory.
///
/// 1. The directory notes the shard and an id of the move.
/// 2. The shard's last transaction cedes it to the move: no gateway delivers anything of it after
///    that.
/// 3. The local queue is written, with that id, and gets its name when it is durable.
/// 4. A register tells that the shard is gone, its log is removed, and the note.
///
/// Before 2 the shard is the cluster's, and after it the directory's. A command that is run again
/// goes on where the last one was cut off.
package struct ShardToQueue {
    package struct Outcome: Sendable {
        /// nil: an earlier command had written the queue.
        package let report: InspectionReport?
    }

    /// What is done. Tests end the command there.
    enum Step: CaseIterable {
        case noted, endingNoted, ceded, written, goneSet, logRemoved
    }

    private let cluster: any ClusterEngine
    private let shard: String
    private let directory: String
    private let timing: FleetTiming
    private let progress: @Sendable (RestoreCommand.Progress) -> Void
    var reached: (Step) throws(QueueError) -> Void = { _ in }

    package init(
        _ cluster: any ClusterEngine,
        _ shard: String,
        to directory: String,
        timing: FleetTiming = FleetTiming(),
        progress: @escaping @Sendable (RestoreCommand.Progress) -> Void = { _ in }
    ) {
        self.cluster = cluster
        self.shard = shard
        self.directory = directory
        self.timing = timing
        self.progress = progress
    }

    package func run() throws(CommitLogError) -> Outcome {
        let lock = try CommitLogError.onQueue { () throws(QueueError) in
            try DirectoryLock(directory)
        }
        defer { withExtendedLifetime(lock) {} }
        try cluster.open()
        let note = try note()
        let queue = TakenQueue(of: shard, in: directory, moveID: note.moveID)
        let isThere = try CommitLogError.onQueue { () throws(QueueError) in try queue.isThere() }
        if isThere {
            try finish()
            return Outcome(report: nil)
        }
        do throws(CommitLogError) {
            // After the shard was ceded, no gateway has it.
            let own = Self.register(note)
            try waitUntilFree(besides: own)
            let claim = try claim(own)
            defer { end(claim, of: own) }
            let report = try take(note, queue)
            try finish()
            return Outcome(report: report)
        } catch {
            try? forget(error)
            throw error
        }
    }

    /// If the shard stays in the cluster, gateways may start in the directory.
    private func forget(_ problem: CommitLogError) throws(QueueError) {
        let isBegun = try MoveNote.read(in: directory)?.stage == .begun
        // Another gateway has absorbed it, so it was not ceded to this move.
        let isAbsorbed =
            problem.kind == .missing && (try? ShardDirectories.isGone(shard, in: cluster)) == true
        if isBegun || isAbsorbed { try MoveNote.remove(in: directory) }
    }

    private func note() throws(CommitLogError) -> MoveNote {
        let log = cluster.log(of: shard).name
        return try CommitLogError.onQueue { () throws(QueueError) in
            if let found = try MoveNote.read(in: directory) {
                guard found.direction == .fromShard, found.shard == shard, found.log == log else {
                    throw QueueError(
                        .refused,
                        "\(directory): \(found); \(found.remedy(in: directory))"
                    )
                }
                return found
            }
            let note = MoveNote(.fromShard, shard, log: log, moveID: TakenQueue.newMoveID())
            // Refuses any queue: none has this id.
            _ = try TakenQueue(of: shard, in: directory, moveID: note.moveID).isThere()
            try note.write(in: directory)
            try reached(.noted)
            return note
        }
    }

    // MARK: - The shard's gateway

    /// Claims the shard, so that gateways leave it alone; the same in a second run.
    private static func register(_ note: MoveNote) -> NodeRegister {
        NodeRegister(node: "sluice-restore", life: String(note.moveID.suffix(8)))
    }

    /// Waits until it is certain that no gateway has the shard, as one that adopts it does.
    private func waitUntilFree(besides own: NodeRegister) throws(CommitLogError) {
        let wake = try CommitLogError.onSystem(.refused) { () throws(SystemError) in try WakeUp() }
        var watch = ShardWatch(timing)
        while true {
            watch.look(at: .all(try cluster.shards()), .now)
            watch.look(at: try cluster.registers().filter { $0.key != own.name }, .now)
            guard watch.shards.contains(shard) else {
                throw .missing("there is no shard \(shard); list them with: sluice shards")
            }
            let owners = watch.claimants(of: shard, .now)
            let living = watch.namesSeenAlive(.now)
            if let owner = owners.first(where: { living.contains($0.node) }) {
                throw .fenced(
                    "the gateway \(owner.node) has the shard \(shard); stop the gateways of the cluster, then run "
                        + "this again"
                )
            }
            // One that said that it stops has closed its shards.
            let hasStopped = watch.lastOwner(of: shard)?.isStopped ?? false
            if owners.isEmpty, hasStopped || watch.orphans(.now).contains(shard) { return }
            wake.wait(timeout: timing.heartbeat)
        }
    }

    /// Only a hint: the fence decides.
    private func claim(_ own: NodeRegister) throws(CommitLogError) -> ShardClaim {
        let claim = try CommitLogError.onSystem(.refused) { () throws(SystemError) in
            try ShardClaim(own, cluster, every: timing.heartbeat)
        }
        try claim.claim(shard)
        return claim
    }

    private func end(_ claim: ShardClaim, of own: NodeRegister) {
        claim.stop()
        // Gateways forget it by themselves.
        try? cluster.set(own.name, to: nil)
    }

    // MARK: - The move

    private func take(
        _ note: MoveNote,
        _ queue: TakenQueue
    ) throws(CommitLogError) -> InspectionReport {
        let log = cluster.log(of: shard)
        try log.open(makes: false)
        let shards = Set(try cluster.shards().map(\.name))
        return try CommitLogError.onQueue { () throws(QueueError) in
            try queue.take(
                from: log,
                hasLog: shards.contains,
                progress: progress
            ) { () throws(QueueError) in
                var ending = note
                ending.stage = .ending
                try ending.write(in: directory)
                try reached(.endingNoted)
            }
            try reached(.ceded)
            let report = try queue.write()
            try reached(.written)
            return report
        }
    }

    /// The queue is here: removes what is left of the shard.
    private func finish() throws(CommitLogError) {
        // Its gateway may come back with a copy, and must not take the log for lost.
        let register = ShardDirectories.goneRegister(of: shard)
        try cluster.set(register, to: ShardDirectories.goneValue)
        try CommitLogError.onQueue { () throws(QueueError) in try reached(.goneSet) }
        try cluster.remove(shard)
        let gone = ShardDirectories.gone(try cluster.registers())
        try CommitLogError.onQueue { () throws(QueueError) in
            try reached(.logRemoved)
            // Copies of such shards would keep a gateway with this queue from starting.
            for name in Set(gone.keys).union([shard]) where ShardName.node(of: name) != nil {
                StoredLogs.removeScratch(in: "\(directory)/shards/\(name)")
            }
            try MoveNote.remove(in: directory)
        }
    }
}
