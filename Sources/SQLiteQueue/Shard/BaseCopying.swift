import Glibc
import SQLite
import Synchronization
import System

/// A copy of the scratch database as it was at one moment, made on a thread of its own while the owner writes on. Its
/// end cancels the copy and removes the file.
final class BaseCopying {
    private let path: String
    private let state: State
    private let worker: Worker

    private final class State: Sendable {
        let progress: WakeUp
        let hasBegun = Atomic(false)
        let result = Locked<Result<Void, SQLiteError>?>(nil)
        let isCancelled = Atomic(false)

        init() throws(SystemError) {
            progress = try WakeUp()
        }
    }

    /// Returns when the moment is fixed. Call it between two transactions.
    init(of database: String, to path: String) throws(SQLiteError) {
        self.path = path
        do throws(SystemError) {
            unlink(path)
            _ = OwnedDescriptor(
                taking: try system("open") {
                    open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
                }
            )
            let state = try State()
            self.state = state
            worker = try Worker("queue-base") {
                let result = Result { () throws(SQLiteError) in try Self.run(database, path, state)
                }
                state.result.withLock { $0 = result }
                state.hasBegun.store(true, ordering: .releasing)
                state.progress.signal()
            }
        } catch {
            throw .system(error, path)
        }
        while !state.hasBegun.load(ordering: .acquiring) { state.progress.wait() }
    }

    deinit {
        state.isCancelled.store(true, ordering: .relaxed)
        worker.join()
        unlink(path)
    }

    private static func run(
        _ database: String,
        _ path: String,
        _ state: State
    ) throws(SQLiteError) {
        // `VACUUM INTO` cannot run in a transaction, and only a transaction fixes the moment.
        let source = try Connection(database, .readOnly)
        let target = try Connection(path, .scratch)
        try target.execute("PRAGMA journal_mode = OFF")
        try target.execute("PRAGMA synchronous = OFF")
        try source.execute("BEGIN")
        // Only a read fixes the moment.
        _ = try source.integer("SELECT count(*) FROM sqlite_schema")
        state.hasBegun.store(true, ordering: .releasing)
        state.progress.signal()
        try source.copy(into: target) { !state.isCancelled.load(ordering: .relaxed) }
        try source.execute("COMMIT")
        guard !state.isCancelled.load(ordering: .relaxed) else { return }
        // Free pages may have logs that were delivered or purged.
        try target.execute("VACUUM")
    }

    /// The copy's file when it is whole; nil: it is not yet.
    func file() throws(SQLiteError) -> String? {
        guard let result = state.result.withLock({ $0 }) else { return nil }
        try result.get()
        return path
    }

    /// Waits for the copy's file.
    func wholeFile() throws(SQLiteError) -> String {
        while true {
            if let file = try file() { return file }
            state.progress.wait()
        }
    }
}
