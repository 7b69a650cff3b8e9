import Glibc
import Queue
import SQLite
import System

/// The files of the open database: their sizes, and the state of the log on the disk.
final class DatabaseFiles: StorePart {
    let context: StoreContext
    /// The database's size at the last check.
    private(set) var databaseBytes = 0
    /// True if free pages wait to be given back.
    private(set) var hasSpareSpace = false
    /// See `makeLogCertain`.
    private(set) var isLogCertain = false

    init(_ context: StoreContext) {
        self.context = context
    }

    /// The used part of the log.
    var logBytes: Int { database.connection.walPages * configuration.tuning.pageBytes }

    /// Gives free pages back, a bounded number at a time, and keeps some for the next burst. The
    /// file becomes shorter with the next checkpoint. The pages behind the free ones move, which
    /// takes room in the log.
    func giveBack(atMost bytes: Int) throws(SQLiteError) {
        let tuning = configuration.tuning
        databaseBytes = try database.pages() * tuning.pageBytes
        let free = try database.freePages() * tuning.pageBytes
        let excess = free - tuning.spareBytes
        hasSpareSpace = excess > tuning.givenBackBytes
        let pages = min(excess, tuning.givenBackBytes, bytes) / tuning.pageBytes
        // For zero pages SQLite would give back all.
        guard pages > 0 else { return hasSpareSpace = false }
        try database.write()
        try database.vacuum(pages)
    }

    /// Makes certain that the log of an earlier process is on the disk. Until then the queue may
    /// accept nothing: after a failed sync in that process, commits behind frames that never
    /// reached the disk would be lost with those frames.
    ///
    /// `WALRewrite` comes first because it proves each frame. A checkpoint proves none: it would
    /// move whatever lies in the place of a lost frame into the database.
    ///
    /// The checkpoint after it makes the next commit begin the log from its start. It does not wait
    /// for a reader, such as `sluice backup`, which keeps the log in place.
    ///
    /// If the disk has no room to write the log once more, the log stays uncertain. Delivering the
    /// present logs is more important, and housekeeping tries again. Call it only between
    /// transactions.
    func makeLogCertain() throws(SQLiteError) {
        guard !isLogCertain else { return }
        guard configuration.commitLog == nil else { return isLogCertain = true }
        do throws(SQLiteError) {
            if fileSize(database.path + "-wal") ?? 0 > 0 { try rewriteLog() }
            isLogCertain = true
            if try database.connection.checkpoint(.restart) == .nothing { try checkSize() }
        } catch {
            guard error.kind == .full else { throw error }
        }
    }

    /// Finds a cut-off file now, not when its lost end is first read. Needs an empty log.
    private func checkSize() throws(SQLiteError) {
        let pages = try database.connection.integer("PRAGMA page_count")
        let pageSize = try database.connection.integer("PRAGMA page_size")
        let expected = Int(pages * pageSize)
        guard let found = fileSize(database.path), found >= expected else {
            throw .damage("the file is shorter than the \(expected) bytes it should have")
        }
    }

    private func rewriteLog() throws(SQLiteError) {
        // The transaction keeps other connections from writing to the log meanwhile.
        try database.write()
        let frames = database.connection.committedFrames()
        let log = database.path + "-wal"
        let written: Int
        do throws(SQLiteError) {
            written = try withSystemErrors(of: log) { () throws(SystemError) in
                try WALRewrite.run(log)
            }
        } catch {
            database.rollBack()
            throw error
        }
        try database.commit()
        // While a reader is connected, SQLite uses the shared index of the log and not the file.
        guard written >= frames else {
            throw .damage("only \(written) of \(frames) pages in its log can be proved")
        }
    }
}

/// Makes a write-ahead log durable where it lies: proves each frame, writes the same bytes once
/// more and syncs the file.
///
/// After a failed sync the kernel may take pages for written that never reached the disk, and a
/// second sync then succeeds without writing them. Writing makes them dirty again. The content
/// stays as it is, so readers see no change, and no space is needed.
enum WALRewrite {
    /// Stops at the first frame that fails the proof, where SQLite's log ends. Returns written
    /// frames.
    static func run(_ path: String) throws(SystemError) -> Int {
        let file = try OwnedDescriptor(opening: path, O_RDWR)
        let frames = try writeFrames(file.number)
        _ = try system("fsync") { fsync(file.number) }
        return frames
    }

    private static func writeFrames(_ file: CInt) throws(SystemError) -> Int {
        guard let found = try read(file, WALHeader.count, at: 0), let head = WALHeader(found) else {
            return 0
        }
        // The head means nothing without frames, so it is written with the first one.
        var unwritten = found
        var sum = head.sum
        var frames = 0
        var offset = WALHeader.count
        while let frame = try read(file, head.frameBytes, at: offset) {
            let words = BigEndianWords(frame)
            sum.add(frame[..<8])
            sum.add(frame[WALScan.frameHeadBytes...])
            guard (words[2], words[3]) == head.salt, sum.value == (words[4], words[5]) else {
                break
            }
            try write(unwritten + frame, to: file, at: offset - unwritten.count)
            unwritten = []
            offset += head.frameBytes
            frames += 1
        }
        return frames
    }

    /// Nil at the end of the log. A read error is not the end, because it may pass. A read that
    /// meets an error behind its first bytes returns these, and the next one returns the error.
    static func read(
        _ file: CInt,
        _ count: Int,
        at offset: Int
    ) throws(SystemError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var found = 0
        while found < count {
            let more = try system("pread") {
                bytes.withUnsafeMutableBytes { bytes in
                    pread(file, bytes.baseAddress! + found, count - found, off_t(offset + found))
                }
            }
            guard more > 0 else { return nil }
            found += more
        }
        return bytes
    }

    private static func write(
        _ bytes: [UInt8],
        to file: CInt,
        at offset: Int
    ) throws(SystemError) {
        let count = try system("pwrite") { pwrite(file, bytes, bytes.count, off_t(offset)) }
        // A short write means that the disk has no room for the rest.
        guard count == bytes.count else { throw SystemError(call: "pwrite", code: ENOSPC) }
    }
}
