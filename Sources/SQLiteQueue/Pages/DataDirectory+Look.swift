import Glibc
import SQLite
import System

// Damage that SQLite ignores: it takes a log that is damaged in its middle to end there, and the
// missing pages of a cut-off database read as zeroes after the log has made the file long again.
extension DataDirectory {
    var wal: String { database + "-wal" }

    /// Returns the damage, or nil, before SQLite opens the files. A newer version's files are its
    /// own. Without synced commits a power cut may leave holes in the log; then SQLite's result is
    /// the one that was promised.
    func checkFiles(isSynced: Bool, _ journal: Journal) throws(SQLiteError) -> SQLiteError? {
        var stored = StoredPages(self)
        if let version = FirstPage.newerVersion(stored) {
            throw .newerSchema(version, known: QueueSchema.migrations.count)
        }
        guard isSynced else { return loneLogProblem(stored) }
        if let head = stored.scan?.lostHead, restore(head) {
            journal.warning(
                "the head of the queue's log was damaged and was restored",
                ["path": wal, "remedy": "nothing is lost; check the disk"]
            )
            stored = StoredPages(self)
        }
        if let problem = problem(stored) { return problem }
        if let rest = stored.scan?.rest, !rest.isEmpty { try wipe(rest) }
        return nil
    }

    func problemOfFiles() -> SQLiteError? { problem(StoredPages(self)) }

    private func problem(_ stored: borrowing StoredPages) -> SQLiteError? {
        // If the log exists and cannot be read, SQLite has to report that.
        guard stored.scan != nil || (fileSize(wal) ?? 0) <= WALHeader.count else { return nil }
        return loneLogProblem(stored) ?? FirstPage.problem(stored) ?? missingPages(stored)
            ?? stored.scan?.problem
    }

    private func loneLogProblem(_ stored: borrowing StoredPages) -> SQLiteError? {
        stored.isLogAlone ? .damage("the file is empty, and its log is not") : nil
    }

    /// Writes the head back: 32 bytes, which lie in one sector.
    private func restore(_ head: WALHeader) -> Bool {
        guard let file = try? OwnedDescriptor(opening: wal, O_WRONLY) else { return false }
        let written = pwrite(file.number, head.bytes, head.bytes.count, 0)
        return written == head.bytes.count && fsync(file.number) == 0
    }

    /// Wipes the frames behind the last whole transaction, which a power cut left of one that was
    /// not acknowledged. SQLite would continue before them, and the rest would then look like
    /// transactions of the same round.
    ///
    /// The file keeps its length: on a full disk it is the only space for acknowledgements.
    private func wipe(_ rest: [Int]) throws(SQLiteError) {
        let bytes = WALScan.frameHeadBytes
        let nobodys = [UInt8](repeating: 0, count: bytes)
        try withSystemErrors(of: wal) { () throws(SystemError) in
            let file = try OwnedDescriptor(opening: wal, O_RDWR)
            let number = file.number
            let heads = rest.map { WALScan.read(number, bytes, at: $0) ?? nobodys }
            let isWritten = rest.allSatisfy { pwrite(number, nobodys, bytes, off_t($0)) == bytes }
            if !isWritten { _ = try system("ftruncate") { ftruncate(number, off_t(rest[0])) } }
            do throws(SystemError) {
                _ = try system("fsync") { fsync(number) }
            } catch {
                // The frames may still be on the disk. The next start has to find them and repeat
                // this.
                if isWritten {
                    for (offset, head) in zip(rest, heads) {
                        pwrite(number, head, bytes, off_t(offset))
                    }
                }
                throw error
            }
        }
    }

    /// Looks for pages that the database's head counts and that neither the file nor the log has.
    private func missingPages(_ stored: borrowing StoredPages) -> SQLiteError? {
        let logged = stored.scan?.sound ?? []
        guard let pages = recordedPages(stored, logged.last), pages <= 1 << 31 else { return nil }
        let there = stored.bytes / stored.pageBytes
        guard there < pages else { return nil }
        // This does not walk over the pages: a damaged head may count any number of them.
        let cutOff = there + 1...pages
        let found = Set(logged.map { Int($0.page) }).count { cutOff.contains($0) }
        // SQLite never writes the page of its locks, at 1 GiB.
        let locks = cutOff.contains((1 << 30) / stored.pageBytes + 1) ? 1 : 0
        let missing = cutOff.count - found - locks
        return missing > 0 ? .damage("\(missing) pages of the file are cut off") : nil
    }

    /// A checkpoint that shortens the file may reach the disk without the file's head; then the log
    /// has the right count, or the only one.
    private func recordedPages(_ stored: borrowing StoredPages, _ last: WALScan.Frame?) -> Int? {
        let logged = last.map { Int($0.commit) }
        guard let head = WALScan.read(stored.database, 32, at: 0),
            Int(head[16]) << 8 | Int(head[17]) == stored.pageBytes & 0xffff
        else { return logged }
        let told = Int(BigEndianWords(head)[7])
        return min(told, logged ?? told)
    }
}
