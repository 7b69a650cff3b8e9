import Glibc
import SQLite
import Synchronization
import System

/// A copy of the scratch database as it was at one moment, made on a thread of its own while the
/// owner writes on. Its end cancels the copy and removes the files.
final class BaseCopying {
    private let directory: DataDirectory
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

    /// Returns when the moment is fixed. Call it between two transactions. `whileWritten` lets the
    /// owner write on, and takes room for two copies.
    init(in directory: DataDirectory, whileWritten: Bool) throws(SQLiteError) {
        self.directory = directory
        directory.removeBase()
        do throws(SystemError) {
            for path in [directory.base, directory.baseDraft] {
                _ = OwnedDescriptor(
                    taking: try system("open") {
                        open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
                    }
                )
            }
            let state = try State()
            self.state = state
            worker = try Worker("queue-base") {
                let result = Result { () throws(SQLiteError) in
                    try Self.run(directory, whileWritten: whileWritten, state)
                }
                directory.removeBaseDraft()
                state.result.withLock { $0 = result }
                state.hasBegun.store(true, ordering: .releasing)
                state.progress.signal()
            }
        } catch {
            throw .system(error, directory.base)
        }
        while !state.hasBegun.load(ordering: .acquiring) { state.progress.wait() }
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
            state.hasBegun.store(true, ordering: .releasing)
            state.progress.signal()
            return try compact(source, directory, state)
        }
        let draft = try Connection(directory.baseDraft, .scratch)
        try draft.execute("PRAGMA journal_mode = OFF")
        try draft.execute("PRAGMA synchronous = OFF")
        try source.execute("BEGIN")
        // Only a read fixes the moment.
        _ = try source.integer("SELECT count(*) FROM sqlite_schema")
        state.hasBegun.store(true, ordering: .releasing)
        state.progress.signal()
        try source.copy(into: draft) { !state.isCancelled.load(ordering: .relaxed) }
        try source.execute("COMMIT")
        guard !state.isCancelled.load(ordering: .relaxed) else { return }
        // `VACUUM INTO` cannot run in the transaction above, which fixes the moment, and `VACUUM`
        // would need a directory for temporary files, which a container may not have.
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
        guard let result = state.result.withLock({ $0 }) else { return nil }
        try result.get()
        return directory.base
    }

    /// Waits for the copy's file.
    func wholeFile() throws(SQLiteError) -> String {
        while true {
            if let file = try file() { return file }
            state.progress.wait()
        }
    }
}
