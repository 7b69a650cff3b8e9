import CommitLog
import Queue
import SQLite
import System

/// The base of a commit log: whether it needs another one, and how far that one is.
struct ShardBase {
    enum Stage {
        case none
        case copying(BaseCopying)
        case sending(BaseCopying, BasePieces)
    }

    /// Another base is due when commits since the last one exceed this and the database.
    private let bytesSinceBaseMin: Int
    /// What the log may hold; nil: it has no bound.
    private var commitLogBytesMax: Int?
    /// The engine is not asked to reserve more before this moment.
    private var nextRoom = Moment(nanoseconds: 0)
    /// Why the engine did not reserve what it was last asked for; nil: it did.
    private var roomProblem: CommitLogError?
    fileprivate(set) var stage = Stage.none
    /// The entry with which the base under way begins.
    fileprivate var start: UInt64 = 0
    /// What lies before this entry was not trimmed yet; 0: nothing is left.
    fileprivate var trimBefore: UInt64 = 0
    /// The log has a whole base that fits the scratch database.
    private(set) var isThere = false
    private(set) var bytesSinceBase = 0
    /// Bytes of the log, and those that the base under way makes dispensable. A base that was given
    /// up stays there until another one is whole.
    private(set) var commitLogBytes = 0
    private var dispensableBytes = 0
    private var lastCounted: UInt64 = 0
    fileprivate var nextStep = Moment(nanoseconds: 0)
    /// Trims that failed one after the other, and why the last one did.
    fileprivate var trimFailures = 0
    fileprivate var trimProblem: SQLiteError?
    /// Why the last base failed; nil: it did not.
    fileprivate var failure: SQLiteError?

    init(bytesSinceBaseMin: Int, commitLogBytesMax: Int?) {
        self.bytesSinceBaseMin = bytesSinceBaseMin
        self.commitLogBytesMax = commitLogBytesMax
    }

    mutating func countChanges(_ bytes: Int) { bytesSinceBase += bytes }

    /// The log has a commit of so many bytes, which ends with this entry. It may be read twice.
    mutating func countCommit(_ bytes: Int, until entry: UInt64) {
        guard entry > lastCounted else { return }
        lastCounted = entry
        commitLogBytes += bytes + Self.commitBytes
    }

    /// The log is read from its beginning.
    mutating func forgetCounts() {
        (commitLogBytes, dispensableBytes, lastCounted, trimBefore) = (0, 0, 0, 0)
    }

    /// True if the log has no more room than acknowledgements and a base need.
    func isNearlyFull(databaseBytes: Int) -> Bool {
        roomForCommits(databaseBytes).map { commitLogBytes > $0 } ?? false
    }

    /// How many more bytes the engine should reserve now, because half of the room is used; nil:
    /// none.
    fileprivate func roomWanted(databaseBytes: Int) -> Int? {
        guard let commitLogBytesMax, let room = roomForCommits(databaseBytes),
            commitLogBytes > room / 2, nextRoom <= .now
        else { return nil }
        return commitLogBytesMax
    }

    /// What the next epoch, acknowledgements and a base need.
    func roomNeeded(databaseBytes: Int) -> Int { 2 * databaseBytes + bytesSinceBaseMin }

    /// False if the engine was asked for room and has too little.
    func hasRoom(for bytes: Int) -> Bool {
        guard roomProblem != nil, let commitLogBytesMax else { return true }
        return commitLogBytes + bytes <= commitLogBytesMax
    }

    private func roomForCommits(_ databaseBytes: Int) -> Int? {
        commitLogBytesMax.map { $0 - databaseBytes - bytesSinceBaseMin }
    }

    fileprivate mutating func waitForRoom() { nextRoom = .now + .seconds(10) }

    mutating func took(room: Result<Int?, CommitLogError>) {
        switch room {
        case .success(let bytes):
            roomProblem = nil
            commitLogBytesMax = bytes ?? commitLogBytesMax
        case .failure(let error): roomProblem = error
        }
    }

    func problemOfFullLog(_ log: String) -> QueueError {
        let text =
            "the commit log \(log) has \(commitLogBytes >> 20) of \((commitLogBytesMax ?? 0) >> 20) MiB"
        if let trimProblem {
            return QueueError(.commitLogFull, "\(text) and cannot be trimmed: \(trimProblem).")
        }
        if let roomProblem {
            return QueueError(
                .diskFull,
                "\(text), and gets no more room: \(roomProblem.description)."
            )
        }
        if let failure {
            return QueueError(
                .diskFull,
                "\(text), and the copy of the queue that would make room fails: \(failure)."
            )
        }
        return QueueError(
            .diskFull,
            "\(text); a copy of the queue makes room when logs were delivered. If queue.max_bytes was raised, restart."
        )
    }

    /// A trim that fails for half a minute is no election of brokers.
    fileprivate static let trimFailuresToTell = 30

    /// What a commit takes beside its body: the head of its entry, and the engine's own bytes.
    private static let commitBytes = 320

    mutating func ended() {
        isThere = true
        bytesSinceBase = 0
    }

    /// A base that begins with this entry was read whole. A trim may have left what lies before it.
    mutating func finishReading(beginning entry: UInt64) {
        ended()
        trimBefore = entry
    }

    mutating func forget() { isThere = false }

    /// What the log holds now becomes dispensable by the base that begins.
    mutating func began() { dispensableBytes = commitLogBytes }

    fileprivate mutating func trimmed() {
        commitLogBytes -= dispensableBytes
        dispensableBytes = 0
        trimBefore = 0
    }

    /// Ends a base that is under way. Waits for the thread that copies it.
    mutating func stop(_ directory: DataDirectory) {
        stage = .none
        directory.removeBase()
    }

    func isDue(databaseBytes: Int) -> Bool {
        guard case .none = stage, trimBefore == 0, nextStep <= .now else { return false }
        // A base makes room, so it must not wait for commits that are refused until there is some.
        // Most of the log may be an older, larger base.
        if isNearlyFull(databaseBytes: databaseBytes) {
            return bytesSinceBase > bytesSinceBaseMin / 4
                || commitLogBytes - bytesSinceBase > 2 * databaseBytes + bytesSinceBaseMin
        }
        return bytesSinceBase > max(bytesSinceBaseMin, databaseBytes)
    }

    /// The time until the next step; nil: no base is under way.
    var untilNext: Duration? {
        if case .none = stage, trimBefore == 0 { return nil }
        return max(nextStep - .now, .milliseconds(1))
    }
}

extension ShardLog {
    /// Takes the next step of a base that is due, between transactions. Throws if an append fails.
    /// Any other failure, such as no room for the copy, postpones the base by a minute.
    func workOnBase(
        _ directory: DataDirectory,
        databaseBytes: Int,
        hasRoom: () -> Bool,
        _ journal: Journal
    ) throws(SQLiteError) {
        do throws(SQLiteError) {
            if let bytes = base.roomWanted(databaseBytes: databaseBytes) {
                makeRoom(for: bytes)
                // It may have reached its bound.
                if base.roomWanted(databaseBytes: databaseBytes) != nil { base.waitForRoom() }
            }
            switch base.stage {
            case .none:
                if base.trimBefore > 0, base.nextStep <= .now { trim(journal) }
                guard base.isDue(databaseBytes: databaseBytes) else { return }
                guard hasRoom() else { throw .unsuitable("the disk has no room for a copy") }
                base.stage = .copying(try BaseCopying(in: directory, whileWritten: true))
                try beginBase()
            case .copying(let copying):
                if let file = try copying.file() {
                    base.stage = .sending(copying, try BasePieces(file))
                } else {
                    base.nextStep = .now + .milliseconds(20)
                }
            case .sending(let copying, let pieces):
                guard base.nextStep <= .now else { return }
                let began = Moment.now
                try sendPiece(of: pieces, copying)
                // Bases use at most half of the log's time.
                base.nextStep = .now + (.now - began)
            }
        } catch {
            guard isOpen else { throw error }
            base.failure = error
            journal.warning(
                "base for the commit log failed; another one begins in a minute",
                ["reason": error]
            )
            base.stop(directory)
            base.nextStep = .now + .seconds(60)
        }
    }

    /// Appends a base at once: without one, what comes next could not be restored. `prepare` has
    /// asked for its room.
    func sendBase(_ directory: DataDirectory) throws(SQLiteError) {
        let databaseBytes = fileSize(directory.database) ?? 0
        try checkRoom(directory, besides: databaseBytes)
        guard base.hasRoom(for: databaseBytes) else {
            throw SQLiteError(CommitLogError(.noRoom, "the commit log has no room for a base"))
        }
        let copying = try BaseCopying(in: directory, whileWritten: false)
        base.stage = .copying(copying)
        try beginBase()
        let pieces = try BasePieces(try copying.wholeFile())
        base.stage = .sending(copying, pieces)
        while case .sending = base.stage { try sendPiece(of: pieces, copying) }
        // If the engine cannot trim now, a later step tries again.
        _ = try? trimOld()
    }

    /// Must directly follow the beginning of the copy: a commit between them would be in neither.
    private func beginBase() throws(SQLiteError) {
        base.began()
        try publish(.baseBegins, [])
        base.start = lastEntry
        committed()
    }

    private func sendPiece(
        of pieces: BasePieces,
        _ copying: BaseCopying
    ) throws(SQLiteError) {
        if let piece = try pieces.next() {
            try publish(.baseChunk, piece)
            return committed()
        }
        try publish(.baseEnds, pieces.trailer)
        committed()
        base.stage = .none
        base.failure = nil
        base.ended()
        base.trimBefore = base.start
    }

    /// If the engine cannot trim now, a later step tries again.
    private func trim(_ journal: Journal) {
        do throws(SQLiteError) {
            try trimOld()
        } catch {
            guard base.trimFailures == ShardBase.trimFailuresToTell else { return }
            journal.error(
                "commit log cannot be trimmed; it grows until no more logs are taken",
                ["log": name, "reason": error]
            )
        }
    }

    private func trimOld() throws(SQLiteError) {
        let began = Moment.now
        do throws(SQLiteError) {
            let isDone = try trim(before: base.trimBefore)
            (base.trimFailures, base.trimProblem) = (0, nil)
            if isDone { return base.trimmed() }
            // Commits wait for it.
            base.nextStep = .now + max(.milliseconds(20), .now - began)
        } catch {
            base.nextStep = .now + .seconds(1)
            base.trimFailures += 1
            base.trimProblem = error
            throw error
        }
    }
}
