import CommitLog
import Glibc
import SQLite
import System

/// A base as it is read from a commit log: the file of a database in pieces, behind a commit that
/// marks its moment, and before one that tells its size.
struct BaseDraft: ~Copyable {
    private let path: String
    private var file: OwnedDescriptor?
    private var head: Commit?
    /// Transactions lie between its pieces.
    private(set) var isInterrupted = false
    private var bytes: UInt64 = 0
    /// It is the local queue of a gateway that becomes a shard.
    private(set) var isMoved = false

    /// The body of such a base's first commit. Until the base is whole, the log must not be taken
    /// for a new one.
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
            file = OwnedDescriptor(
                taking: try call("open") { [path] in
                    open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
                }
            )
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
        var written = 0
        while written < body.count {
            written += try call("write") {
                body[written...].withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
            }
        }
        bytes += UInt64(body.count)
    }

    private func call<Number: FixedWidthInteger & SignedInteger>(
        _ name: StaticString,
        _ body: () -> Number
    ) throws(SQLiteError) -> Number {
        do throws(SystemError) {
            return try system(name, body)
        } catch {
            throw .system(error, path)
        }
    }
}
