import CommitLog
import Glibc
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

    /// Another base is due when commits since the last one exceed this and twice the size of the database.
    private let logBytesMin: Int
    fileprivate(set) var stage = Stage.none
    /// The entry with which the base under way begins.
    fileprivate var first: UInt64 = 0
    /// What lies before this entry was not trimmed yet; 0: nothing is left.
    fileprivate var untrimmed: UInt64 = 0
    /// The log has a whole base that fits the scratch database.
    private(set) var isThere = false
    /// Bytes of commits since the last one.
    private(set) var logBytes = 0
    fileprivate var nextStep = Moment(nanoseconds: 0)

    init(logBytesMin: Int) {
        self.logBytesMin = logBytesMin
    }

    mutating func grew(by bytes: Int) { logBytes += bytes }

    mutating func found() {
        isThere = true
        logBytes = 0
    }

    mutating func lost() { isThere = false }

    /// Ends a base that is under way. Waits for the thread that copies it.
    mutating func stop(_ directory: DataDirectory) {
        stage = .none
        // A process that was killed may have left it.
        unlink(directory.base)
    }

    func isDue(databaseBytes: Int) -> Bool {
        guard case .none = stage, nextStep <= .now else { return false }
        return logBytes > max(logBytesMin, 2 * databaseBytes)
    }

    /// The time until the next step; nil: no base is under way.
    var untilNext: Duration? {
        if case .none = stage { nil } else { max(nextStep - .now, .milliseconds(1)) }
    }
}

extension ShardLog {
    /// Takes the next step of a base that is due. Called between transactions. Throws if an append fails. Any other
    /// failure, such as no room for the copy, postpones the base by a minute.
    func workOnBase(
        _ directory: DataDirectory,
        databaseBytes: Int,
        hasRoom: () -> Bool,
        _ journal: Journal
    ) throws(SQLiteError) {
        do throws(SQLiteError) {
            switch base.stage {
            case .none:
                if base.untrimmed > 0 { try trimOld() }
                guard base.isDue(databaseBytes: databaseBytes) else { return }
                guard hasRoom() else { throw .unsuitable("the disk has no room for a copy") }
                base.stage = .copying(try BaseCopying(of: directory.database, to: directory.base))
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
                // Bases use at most a quarter of the log's time.
                base.nextStep = .now + (.now - began) * 3
            }
        } catch {
            guard isOpen else { throw error }
            journal.warning("base for the commit log comes later", ["reason": error])
            base.stop(directory)
            base.nextStep = .now + .seconds(60)
        }
    }

    /// Appends a base at once: without one, what comes next could not be restored.
    func sendBase(_ directory: DataDirectory) throws(SQLiteError) {
        let copying = try BaseCopying(of: directory.database, to: directory.base)
        base.stage = .copying(copying)
        try beginBase()
        let pieces = try BasePieces(try copying.wholeFile())
        base.stage = .sending(copying, pieces)
        while case .sending = base.stage { try sendPiece(of: pieces, copying) }
        // Not now, if the engine cannot.
        _ = try? trimOld()
    }

    /// Must directly follow the beginning of the copy: a commit between them would be in neither.
    private func beginBase() throws(SQLiteError) {
        try publish(.baseBegins, [])
        base.first = lastEntry
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
        base.found()
        base.untrimmed = base.first
    }

    private func trimOld() throws(SQLiteError) {
        try trim(before: base.untrimmed)
        base.untrimmed = 0
    }
}
