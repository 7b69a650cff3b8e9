import Glibc
import System

// What SQLite would pass over in silence: a log that is damaged in its middle, which it takes to end there, and a
// database that was cut off, whose missing pages read as zeroes once the log has made the file long again.
extension DataDirectory {
    private var log: String { database + "-wal" }

    /// Returns what is wrong, nil when nothing is. The sound part of a damaged log stands in its place then, and the
    /// damaged one is kept aside.
    func lookIntoFiles(_ time: WallTime) throws(QueueError) -> SQLiteError? {
        let scan = scanLog()
        if let problem = missingPages(scan) { return problem }
        guard let scan, let problem = scan.problem else { return nil }
        try mend(scan, time)
        return problem
    }

    /// The same, and changes nothing.
    func problemOfFiles() -> SQLiteError? {
        let scan = scanLog()
        return missingPages(scan) ?? scan?.problem
    }

    private func scanLog() -> LogScan? {
        let number = open(log, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let descriptor = OwnedDescriptor(taking: number)
        return LogScan(descriptor.number)
    }

    private func mend(_ scan: LogScan, _ time: WallTime) throws(QueueError) {
        let mended = log + ".mended"
        defer { unlink(mended) }
        let from = open(log, O_RDONLY | O_CLOEXEC)
        guard from >= 0 else { throw problem("cannot give its log", errno) }
        let damaged = OwnedDescriptor(taking: from)
        let number = open(mended, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw problem("cannot hold a mended log", errno) }
        let descriptor = OwnedDescriptor(taking: number)
        let isWhole = scan.mended(damaged.number) { bytes in
            bytes.withUnsafeBytes { write(number, $0.baseAddress, $0.count) } == bytes.count
        }
        guard isWhole, fsync(descriptor.number) == 0 else {
            throw problem("cannot hold a mended log", errno)
        }
        guard link(log, newAside(time, "log")) == 0, rename(mended, log) == 0 else {
            throw problem("cannot keep a damaged log under another name", errno)
        }
        try sync()
    }

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
        let pages = head[28...].reduce(0) { $0 << 8 | Int($1) }
        // A head that makes no sense is found by SQLite.
        guard pageBytes >= 512, pages <= 1 << 31, size / pageBytes < pages else { return nil }
        // Without a walk over the pages: a head that is damaged may count any number of them.
        let cutOff = size / pageBytes + 1...pages
        let logged = Set((scan?.sound ?? []).map { Int($0.page) }).count { cutOff.contains($0) }
        let missing = cutOff.count - logged
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
