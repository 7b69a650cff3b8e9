import CommitLog
import Queue
import SQLite
import System

/// The bases of a commit log: when it needs another one, and how far that one is.
struct ShardBase {
    enum Stage {
        case none
        case copying(BaseCopying)
        case sending(BaseCopying, BasePieces)
    }

    /// Before another base makes what lies before it dispensable, the log grows by this and by twice the database.
    private let logBytesMin: Int
    var stage = Stage.none
    /// The entry with which the base under way begins.
    var first: UInt64 = 0
    /// The log has a whole base of the present schema.
    private(set) var isThere = false
    /// Bytes of commits since the last one.
    private(set) var logBytes = 0
    private(set) var next = Moment(nanoseconds: 0)

    init(logBytesMin: Int) {
        self.logBytesMin = logBytesMin
    }

    mutating func grew(by bytes: Int) { logBytes += bytes }

    mutating func found() {
        isThere = true
        logBytes = 0
    }

    /// What was begun is of no use, since another epoch follows.
    mutating func giveUp() { stage = .none }

    mutating func lost() { isThere = false }

    /// Behind a piece that took so long the log belongs to commits for three times as long.
    mutating func rest(after took: Duration) { next = .now + took * 3 }

    mutating func tryAgainLater() {
        stage = .none
        next = .now + .seconds(60)
    }

    func isDue(databaseBytes: Int) -> Bool {
        guard case .none = stage, next <= .now else { return false }
        return logBytes > max(logBytesMin, 2 * databaseBytes)
    }

    /// The time until the next piece; nil: no base is under way.
    var untilNext: Duration? {
        if case .none = stage { nil } else { max(next - .now, .milliseconds(1)) }
    }
}

extension ShardLog {
    /// Takes the next step of a base that is due. Called between transactions. Throws only if the log does not take it:
    /// without room for a copy the base comes later.
    func workOnBase(
        _ directory: DataDirectory,
        databaseBytes: Int,
        _ journal: Journal
    ) throws(SQLiteError) {
        do throws(SQLiteError) {
            switch base.stage {
            case .none:
                guard base.isDue(databaseBytes: databaseBytes) else { return }
                base.stage = .copying(try BaseCopying(of: directory.database, to: directory.base))
            case .copying(let copying):
                guard let file = try copying.file() else {
                    return base.rest(after: .milliseconds(10))
                }
                base.stage = .sending(copying, try BasePieces(file))
                return
            case .sending(let copying, let pieces): return try sendPiece(of: pieces, copying)
            }
        } catch {
            guard isOpen else { throw error }
            journal.warning("base for the commit log comes later", ["reason": error])
            return base.tryAgainLater()
        }
        try beginBase()
    }

    /// Appends a base at once: without one, what comes next could not be restored.
    func sendBase(_ directory: DataDirectory) throws(SQLiteError) {
        let copying = try BaseCopying(of: directory.database, to: directory.base)
        base.stage = .copying(copying)
        try beginBase()
        let pieces = try BasePieces(try copying.wholeFile())
        base.stage = .sending(copying, pieces)
        while case .sending = base.stage { try sendPiece(of: pieces, copying) }
    }

    /// No commit may lie between the moment of the copy and this.
    private func beginBase() throws(SQLiteError) {
        try publish(.baseBegins, [])
        base.first = lastEntry
        committed()
    }

    private func sendPiece(
        of pieces: BasePieces,
        _ copying: BaseCopying
    ) throws(SQLiteError) {
        guard base.next <= .now || !base.isThere else { return }
        let began = Moment.now
        if let piece = try pieces.next() {
            try publish(.baseChunk, piece)
            committed()
            return base.rest(after: .now - began)
        }
        try publish(.baseEnds, pieces.size)
        committed()
        base.giveUp()
        base.found()
        try trim(before: base.first)
    }
}
