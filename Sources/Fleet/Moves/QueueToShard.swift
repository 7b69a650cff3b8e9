package import CommitLog
import Queue
package import SQLiteQueue
import System

/// `sluice shards add`: makes the local queue of a stopped gateway a shard of a cluster, which a
/// gateway then adopts.
///
/// 1. The directory notes the shard's name.
/// 2. The log is made, and its base sent: a copy of the queue. Its first entry marks it as moved,
///    so no gateway opens it yet.
/// 3. The queue is put aside, and the note says that the log may be whole.
/// 4. The last entry of the base is sent. From then on the queue is the shard.
/// 5. The note is removed.
///
/// Up to 3 the log cannot become whole without this command, and from then on the queue is not in
/// its place any more. So no log is delivered twice. A log that is not whole is never adopted, so
/// it is never absorbed either: a log that is gone after 4 was whole.
package struct QueueToShard {
    package struct Outcome: Sendable {
        package let shard: String
        /// nil: an earlier command had sent the queue.
        package let report: InspectionReport?
        /// The queue as it was.
        package let aside: String
        /// A gateway has put another queue in its place since.
        package let hasAnother: Bool
    }

    /// What is done. Tests end the command there.
    enum Step: CaseIterable {
        case noted, logMade, baseBegun, pieceSent, putAside, endingNoted, sent
    }

    /// A gateway may adopt the new log before its base begins: then another shard is made.
    private static let attemptsMax = 5

    private let cluster: any ClusterEngine
    private let directory: String
    private let progress: (MovingQueue.Progress) -> Void
    var reached: (Step) throws(QueueError) -> Void = { _ in }

    package init(
        _ cluster: any ClusterEngine,
        from directory: String,
        progress: @escaping (MovingQueue.Progress) -> Void = { _ in }
    ) {
        self.cluster = cluster
        self.directory = directory
        self.progress = progress
    }

    package func run() throws(CommitLogError) -> Outcome {
        let lock = try CommitLogError.onQueue { () throws(QueueError) in
            guard try MoveNote.read(in: directory) != nil || MovingQueue.isThere(in: directory)
            else {
                throw QueueError(
                    .directory,
                    "\(directory) has no queue.db; name the data directory of a stopped gateway (data_dir)."
                )
            }
            return try DirectoryLock(directory)
        }
        defer { withExtendedLifetime(lock) {} }
        try cluster.open()
        for _ in 0..<Self.attemptsMax {
            if let outcome = try move(try note()) { return outcome }
        }
        throw .unreachable(
            "gateways have adopted \(Self.attemptsMax) new shards before the queue was copied; run the command again"
        )
    }

    /// The note of an earlier command, or another one.
    private func note() throws(CommitLogError) -> MoveNote {
        let found = try CommitLogError.onQueue { () throws(QueueError) in
            try MoveNote.read(in: directory)
        }
        guard let found else { return try begin() }
        let log = cluster.log(of: found.shard).name
        guard found.direction == .toShard, found.log == log else {
            throw .refused(
                "\(directory): \(found), and not to this cluster (\(log)); "
                    + found.remedy(in: directory)
            )
        }
        return found
    }

    private func begin() throws(CommitLogError) -> MoveNote {
        let shard = ShardName.new(for: ShardName.moved)
        let note = MoveNote(.toShard, shard, log: cluster.log(of: shard).name, moveID: "-")
        try CommitLogError.onQueue { () throws(QueueError) in
            try note.write(in: directory)
            try reached(.noted)
        }
        return note
    }

    /// nil: the move must begin again, with another shard.
    private func move(_ note: MoveNote) throws(CommitLogError) -> Outcome? {
        let log = cluster.log(of: note.shard)
        let queue = MovingQueue(in: directory, to: note.shard)
        guard try open(log, note) else {
            return note.stage == .ending ? try finish(note, nil) : try giveUp(note)
        }
        try CommitLogError.onQueue { () throws(QueueError) in try reached(.logMade) }
        let (isWhole, end) = try MovingQueue.look(at: log)
        guard !isWhole else {
            return note.stage == .ending ? try finish(note, nil) : try giveUp(note)
        }
        let report = try CommitLogError.onQueue { () throws(QueueError) in try queue.makeCopy() }
        let room = try log.makeRoom(for: 2 * queue.copyBytes) ?? log.bytesMax
        if let bytesMax = room, queue.copyBytes > bytesMax / 2 {
            queue.discardCopy()
            throw .noRoom(
                "the queue of \(directory) has \(queue.copyBytes) bytes, and the log of a shard holds \(bytesMax); "
                    + "raise queue.max_bytes"
            )
        }
        do throws(QueueError) {
            try send(note, queue, to: log, after: end)
        } catch {
            // An earlier command or a gateway has appended since.
            guard error.kind == .fenced else { throw CommitLogError(error) }
            return nil
        }
        return try finish(note, report)
    }

    /// Opens the log. False: it is gone, because the shard was whole and has been absorbed.
    private func open(
        _ log: any EngineLog,
        _ note: MoveNote
    ) throws(CommitLogError) -> Bool {
        guard try !ShardDirectories.isGone(note.shard, in: cluster) else { return false }
        do throws(CommitLogError) {
            try log.open(makes: note.stage == .begun)
            return true
        } catch {
            guard error.kind == .missing else { throw error }
            // It may have been absorbed at this moment.
            if try ShardDirectories.isGone(note.shard, in: cluster) { return false }
            let queue = MovingQueue(in: directory, to: note.shard)
            throw .refused(
                "the log of the shard \(note.shard) (\(note.log)) is gone, and nothing tells if its logs were "
                    + "delivered. If they were, remove \(directory)/queue.move; if not, rename \(queue.aside) to "
                    + "queue.db and then remove it"
            )
        }
    }

    private func send(
        _ note: MoveNote,
        _ queue: MovingQueue,
        to log: any CommitLog,
        after end: LogPosition
    ) throws(QueueError) {
        try queue.send(to: log, after: end) { sent throws(QueueError) in
            progress(sent)
            try reached(sent.sent == 0 ? .baseBegun : .pieceSent)
        } isEnding: { () throws(QueueError) in
            try queue.putAside()
            try reached(.putAside)
            var ending = note
            ending.stage = .ending
            try ending.write(in: directory)
            try reached(.endingNoted)
        }
        try reached(.sent)
    }

    /// A gateway has the log, which was not whole.
    private func giveUp(_ note: MoveNote) throws(CommitLogError) -> Outcome? {
        try CommitLogError.onQueue { () throws(QueueError) in
            try MovingQueue(in: directory, to: note.shard).bringBack()
            try MoveNote.remove(in: directory)
        }
        return nil
    }

    private func finish(
        _ note: MoveNote,
        _ report: InspectionReport?
    ) throws(CommitLogError) -> Outcome {
        let queue = MovingQueue(in: directory, to: note.shard)
        queue.discardCopy()
        try CommitLogError.onQueue { () throws(QueueError) in try MoveNote.remove(in: directory) }
        return Outcome(
            shard: note.shard,
            report: report,
            aside: queue.aside,
            hasAnother: MovingQueue.isThere(in: directory)
        )
    }
}
