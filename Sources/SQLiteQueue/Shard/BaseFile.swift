import CommitLog
import Glibc
import SQLite
import Synchronization
import System

/// A copy of the scratch database as it was at one moment, made on a thread of its own. Its end
/// cancels the copy and removes the files.
final class BaseCopying {
    private let directory: DataDirectory
    private let state: State
    private let worker: Worker

    private final class State: Sendable {
        let begun: Promise<Void>
        let result: Promise<Result<Void, SQLiteError>>
        let isCancelled = Atomic(false)

        init() throws(SystemError) {
            begun = try Promise()
            result = try Promise()
        }
    }

    /// Returns when the moment is fixed, between two transactions. `whileWritten` lets the owner
    /// write on, and takes room for two copies.
    init(in directory: DataDirectory, whileWritten: Bool) throws(SQLiteError) {
        self.directory = directory
        directory.removeBase()
        do throws(SystemError) {
            for path in [directory.base, directory.baseDraft] {
                _ = try OwnedDescriptor(opening: path, O_CREAT | O_EXCL | O_WRONLY)
            }
            let state = try State()
            self.state = state
            worker = try Worker("queue-base") {
                let result = Result { () throws(SQLiteError) in
                    try Self.run(directory, whileWritten: whileWritten, state)
                }
                directory.removeBaseDraft()
                state.result.bring(result)
                state.begun.bring(())
            }
        } catch {
            throw .system(error, directory.base)
        }
        state.begun.wait()
    }

    deinit {
        state.isCancelled.store(true, ordering: .relaxed)
        worker.join()
        directory.removeBase()
    }

    private static func run(
        _ directory: DataDirectory,
        whileWritten: Bool,
        _ state: State
    ) throws(SQLiteError) {
        let source = try Connection(directory.database, .readOnly)
        guard whileWritten else {
            state.begun.bring(())
            return try compact(source, directory, state)
        }
        let draft = try Connection(directory.baseDraft, .scratch)
        try draft.execute("PRAGMA journal_mode = OFF")
        try draft.execute("PRAGMA synchronous = OFF")
        try source.execute("BEGIN")
        // Only a read fixes the moment.
        _ = try source.integer("SELECT count(*) FROM sqlite_schema")
        state.begun.bring(())
        try source.copy(into: draft) { !state.isCancelled.load(ordering: .relaxed) }
        try source.execute("COMMIT")
        guard !state.isCancelled.load(ordering: .relaxed) else { return }
        // `VACUUM INTO` cannot run in the transaction above, and `VACUUM` would need a directory
        // for temporary files, which a container may not have.
        try compact(draft, directory, state)
    }

    /// Copies all but free pages, which may have logs that were delivered or purged.
    private static func compact(
        _ connection: Connection,
        _ directory: DataDirectory,
        _ state: State
    ) throws(SQLiteError) {
        connection.endUnless { !state.isCancelled.load(ordering: .relaxed) }
        let compaction = try connection.prepare("VACUUM INTO ?")
        compaction.bind(1, directory.base)
        try compaction.run()
    }

    /// The copy's file when it is whole; nil: it is not yet.
    func file() throws(SQLiteError) -> String? {
        guard let result = state.result.wait(atMost: .zero) else { return nil }
        try result.get()
        return directory.base
    }

    func wholeFile() throws(SQLiteError) -> String {
        try state.result.wait().get()
        return directory.base
    }
}

/// The file of a base, in pieces for the commit log.
final class BasePieces {
    private static let pieceBytes = 512 << 10

    private let path: String
    private let file: OwnedDescriptor
    private var bytes: UInt64 = 0

    init(_ path: String) throws(SQLiteError) {
        self.path = path
        file = try withSystemErrors(of: path) { () throws(SystemError) in
            try OwnedDescriptor(opening: path, O_RDONLY)
        }
    }

    /// The body of the base's last commit: the number of bytes in all pieces, little-endian.
    var trailer: [UInt8] { Self.trailer(bytes) }

    static func trailer(_ bytes: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: bytes >> UInt64(8 * $0)) }
    }

    func next() throws(SQLiteError) -> [UInt8]? {
        let number = file.number
        var failure: SystemError?
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, filled in
            do throws(SystemError) {
                filled = try system("read") { read(number, buffer.baseAddress, buffer.count) }
            } catch {
                failure = error
            }
        }
        if let failure { throw .system(failure, path) }
        bytes += UInt64(piece.count)
        return piece.isEmpty ? nil : piece
    }
}

/// A base as a commit log has it: a database's file in pieces, between a commit that marks its
/// moment and one that tells its size.
struct BaseDraft: ~Copyable {
    private let path: String
    private var file: OwnedDescriptor?
    private var head: Commit?
    /// Transactions lie between its pieces.
    private(set) var isInterrupted = false
    private var bytes: UInt64 = 0
    /// It is the local queue of a gateway that becomes a shard.
    private(set) var isMoved = false

    /// The first commit's body. Until the base is whole, the log must not be taken for a new one.
    static let moveMark = Array("moved queue".utf8)

    init(of database: String) {
        path = database
    }

    /// Returns the base's first commit when the file is whole. Other commits may lie between its
    /// pieces. A base that another one follows before its end was given up by its writer.
    mutating func take(_ commit: Commit) throws(SQLiteError) -> Commit? {
        switch commit.kind {
        case .epoch: return nil
        case .decision:
            throw SQLiteError(CommitLogError(.damaged, "a decision lies in the log of a shard"))
        case .changes:
            isInterrupted = true
            return nil
        case .baseBegins:
            file = nil
            head = commit
            isInterrupted = false
            isMoved = commit.body == Self.moveMark
            bytes = 0
            file = try withSystemErrors(of: path) { [path] () throws(SystemError) in
                try OwnedDescriptor(opening: path, O_CREAT | O_TRUNC | O_WRONLY)
            }
            return nil
        case .baseChunk:
            guard head?.id.epoch == commit.id.epoch else { return nil }
            try append(commit.body)
            return nil
        case .baseEnds:
            guard let head, head.id.epoch == commit.id.epoch else { return nil }
            guard commit.body == BasePieces.trailer(bytes) else {
                throw SQLiteError(
                    CommitLogError(.damaged, "a base of \(bytes) bytes should have another size")
                )
            }
            file = nil
            return head
        }
    }

    private mutating func append(_ body: [UInt8]) throws(SQLiteError) {
        guard let number = file?.number else { return }
        try withSystemErrors(of: path) { () throws(SystemError) in
            var written = 0
            while written < body.count {
                written += try system("write") {
                    body[written...].withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
                }
            }
        }
        bytes += UInt64(body.count)
    }
}
