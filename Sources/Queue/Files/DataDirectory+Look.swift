import Glibc
import System

// What SQLite would pass over in silence: a log that is damaged in its middle, which it takes to end there, and a
// database that was cut off, whose missing pages read as zeroes once the log has made the file long again.
extension DataDirectory {
    private var log: String { database + "-wal" }

    /// What is wrong, nil when nothing is. For whoever holds the lock, before SQLite opens the files.
    func lookIntoFiles() -> SQLiteError? {
        let scan = scanLog()
        if let problem = problem(scan) { return problem }
        if let scan, scan.hasRest { cutRest(scan) }
        return nil
    }

    /// The same, and changes nothing.
    func problemOfFiles() -> SQLiteError? { problem(scanLog()) }

    private func problem(_ scan: LogScan?) -> SQLiteError? {
        // A log that is there and cannot be looked into is for SQLite to judge.
        guard scan != nil || (fileSize(log) ?? 0) <= LogScan.headBytes else { return nil }
        return missingPages(scan) ?? scan?.problem
    }

    private func scanLog() -> LogScan? {
        let number = open(log, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let descriptor = OwnedDescriptor(taking: number)
        return LogScan(descriptor.number)
    }

    /// Behind the last whole transaction lies what a power cut left of one that nobody was told of. SQLite passes over it and
    /// writes on before it; what then still lies behind would look like transactions of the same round.
    private func cutRest(_ scan: LogScan) {
        let number = open(log, O_WRONLY | O_CLOEXEC)
        guard number >= 0 else { return }
        let descriptor = OwnedDescriptor(taking: number)
        _ = ftruncate(descriptor.number, off_t(scan.provenEnd))
        _ = fsync(descriptor.number)
    }

    /// Gives the copy of a damaged database its log: the sound part of one that is damaged itself, which is kept beside it as
    /// it is. The log in its place stays, so that a crash leaves what was found.
    func linkLog(to aside: String) throws(QueueError) {
        guard let scan = scanLog(), scan.isDamaged else {
            guard link(log, aside + "-wal") == 0 || errno == ENOENT else {
                throw problem("cannot keep a damaged queue.db under another name", errno)
            }
            return
        }
        guard link(log, Self.damagedLog(of: aside)) == 0 else {
            throw problem("cannot keep a damaged log under another name", errno)
        }
        let from = open(log, O_RDONLY | O_CLOEXEC)
        guard from >= 0 else { throw problem("cannot give its log", errno) }
        let damaged = OwnedDescriptor(taking: from)
        let number = open(aside + "-wal", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw problem("cannot hold a mended log", errno) }
        let descriptor = OwnedDescriptor(taking: number)
        var code: CInt = 0
        let isWhole = scan.mended(damaged.number) { bytes in
            let count = bytes.withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
            if count < 0 { code = errno }
            return count == bytes.count
        }
        guard isWhole, fsync(descriptor.number) == 0 else {
            throw problem("cannot hold a mended log", code == 0 ? ENOSPC : code)
        }
    }

    static func damagedLog(of aside: String) -> String { aside.dropLast(2) + "log" }

    /// Pages that the database's head counts, and that are neither in the file nor in the log.
    private func missingPages(_ scan: LogScan?) -> SQLiteError? {
        let number = open(database, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let descriptor = OwnedDescriptor(taking: number)
        var head = [UInt8](repeating: 0, count: 32)
        let found = head.withUnsafeMutableBytes {
            pread(descriptor.number, $0.baseAddress, $0.count, 0)
        }
        guard found == head.count, let size = fileSize(database) else { return nil }
        let pageBytes = Int(head[16]) << 8 | Int(head[17])
        // A checkpoint that makes the file shorter may have come to the disk without its head; the log knows.
        let told = head[28...].reduce(0) { $0 << 8 | Int($1) }
        let pages = min(told, scan?.sound.last.map { Int($0.commit) } ?? told)
        // A head that makes no sense is found by SQLite.
        guard pageBytes >= 512, pages <= 1 << 31, size / pageBytes < pages else { return nil }
        // Without a walk over the pages: a head that is damaged may count any number of them.
        let cutOff = size / pageBytes + 1...pages
        let logged = Set((scan?.sound ?? []).map { Int($0.page) }).count { cutOff.contains($0) }
        // The page of SQLite's locks, at 1 GiB, is never written.
        let locks = cutOff.contains((1 << 30) / pageBytes + 1) ? 1 : 0
        let missing = cutOff.count - logged - locks
        return missing > 0 ? .damage("\(missing) pages of the file are cut off") : nil
    }
}

extension LogScan {
    fileprivate var problem: SQLiteError? {
        guard isDamaged else { return nil }
        let pages = damagedFrames + sound.count
        return .damage("\(damagedFrames) of \(pages) pages in its log are damaged")
    }
}
