import Glibc
import Queue
import System

// A damaged database is replaced in an order in which a crash at any point loses neither the old
// files nor the saved content. While `queue.db` exists, it is valid. After it is gone,
// `queue.salvage.db` is complete.
extension DataDirectory {
    /// The new database while the old one is still in place.
    var salvage: String { path + "/queue.salvage.db" }

    private static let companions = ["", "-wal"]

    /// Gives the database's files a second name that stays. Returns that name.
    func linkAside(_ time: WallTime) throws(QueueError) -> String {
        let stamp = time.rfc3339.filter { $0.isNumber }.prefix(14)
        var aside = "\(path)/queue.corrupt-\(stamp).db"
        var attempt = 1
        while try isTaken(aside) {
            attempt += 1
            aside = "\(path)/queue.corrupt-\(stamp)-\(attempt).db"
        }
        do throws(QueueError) {
            try mark(aside)
            try linkFiles(to: aside)
        } catch {
            unlinkAside(aside)
            throw error
        }
        try sync()
        return aside
    }

    private func isTaken(_ aside: String) throws(QueueError) -> Bool {
        let names =
            Self.companions.map { aside + $0 } + [Self.damagedLog(of: aside), Self.mark(of: aside)]
        for name in names {
            if access(name, F_OK) == 0 { return true }
            // If the name existed after all, a failed link would remove it.
            guard errno == ENOENT else { throw problem("cannot hold \(name)", errno) }
        }
        return false
    }

    /// Removes the second name while the first one exists. The next attempt gives another name.
    func unlinkAside(_ aside: String) {
        guard access(database, F_OK) == 0 else { return }
        remove(aside)
    }

    func remove(_ aside: String) {
        for suffix in Self.companions + ["-shm"] { unlink(aside + suffix) }
        unlink(Self.damagedLog(of: aside))
        unlink(Self.mark(of: aside))
    }

    /// Puts the saved database in the place of the damaged one. Also finishes an interrupted
    /// replacement.
    func replaceDamaged() throws(QueueError) {
        unlink(database)
        try sync()
        // The old log must never meet the new database, not even if a file system loses one change
        // in a power cut and keeps the other.
        for suffix in ["-wal", "-shm"] { unlink(database + suffix) }
        try sync()
        guard rename(salvage, database) == 0 else {
            throw problem("cannot hold a new queue.db", errno)
        }
        try sync()
    }

    /// Removes the log's index. The next connection that opens the log builds it again.
    func removeIndex(of database: String) {
        unlink(database + "-shm")
    }

    func removeSalvage() {
        for suffix in ["", "-wal", "-shm"] { unlink(salvage + suffix) }
    }
}

// Damaged databases that were moved aside. If a copy has a mark, it may have the only copy of some
// logs and is never deleted. A few of the others are kept for finding the cause.
extension DataDirectory {
    /// The number of completely copied databases that are kept.
    static let damagedCopiesMax = 3

    static func mark(of aside: String) -> String { aside + "-unsaved" }

    private func mark(_ aside: String) throws(QueueError) {
        let descriptor = open(Self.mark(of: aside), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw problem("cannot hold \(Self.mark(of: aside))", errno) }
        _ = OwnedDescriptor(taking: descriptor)
    }

    /// Records in the mark which content is not copied yet. The queue's own database records the
    /// same; the mark counts if a later salvage cannot read that record. The mark may be older:
    /// then some logs arrive twice, and none is lost.
    func note(_ remainder: Remainder) { writeMark(of: remainder.file, remainder.bytes) }

    /// Empties the mark, which stays: nothing more is to be copied.
    func clearNote(of file: String) { writeMark(of: file, []) }

    private func writeMark(of file: String, _ bytes: [UInt8]) {
        let descriptor = open(Self.mark(of: "\(path)/\(file)"), O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        let mark = OwnedDescriptor(taking: descriptor)
        // A partly written note does not count: a note ends with a checksum.
        pwrite(mark.number, bytes, bytes.count, 0)
        ftruncate(mark.number, off_t(bytes.count))
    }

    /// The remainders in the marks of other copies.
    func notedRemainders(besides aside: String) -> [Remainder] {
        unsavedCopies.filter { $0 != aside }.compactMap { other in
            let mark = Self.mark(of: other)
            let descriptor = open(mark, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            let file = OwnedDescriptor(taking: descriptor)
            let bytes = WALScan.read(file.number, fileSize(mark) ?? 0, at: 0) ?? []
            return Remainder(of: String(other.dropFirst(path.count + 1)), bytes)
        }
    }

    /// Removes the mark: the queue has all readable content of the copy.
    func unmark(_ aside: String) {
        unlink(Self.mark(of: aside))
        // A mark that returns after a power cut costs space but no logs.
        try? sync()
    }

    /// The paths of the kept copies, oldest first.
    var damagedCopies: [String] {
        names.filter { $0.hasPrefix("queue.corrupt-") && $0.hasSuffix(".db") }
            // The name is compared without its end, so that the second copy of one second comes
            // after the first.
            .sorted { $0.dropLast(3) < $1.dropLast(3) }
            .map { "\(path)/\($0)" }
    }

    /// The copies that are never deleted, oldest first, because each may have the only copy of
    /// logs. If the disk cannot report on a mark, the mark counts as present.
    var unsavedCopies: [String] {
        damagedCopies.filter { access(Self.mark(of: $0), F_OK) == 0 || errno != ENOENT }
    }

    /// The bytes of the copy on the disk, including its logs.
    func bytes(of aside: String) -> Int {
        let paths = Self.companions.map { aside + $0 } + [Self.damagedLog(of: aside)]
        return paths.reduce(0) { sum, path in
            var about = stat()
            return stat(path, &about) == 0 ? sum + Int(about.st_blocks) * 512 : sum
        }
    }

    /// Deletes the oldest deletable copies until `most` of them are left, at most `limit` at a
    /// time. Returns the deleted ones. The queue still copies from the files in `inUse`.
    func removeDamagedCopies(keeping most: Int, atMost limit: Int, inUse: [String]) -> [String] {
        let unsaved = unsavedCopies
        let deletable = damagedCopies.filter { aside in
            !unsaved.contains(aside) && !inUse.contains { aside.hasSuffix("/" + $0) }
        }
        let surplus = Array(deletable.dropLast(most).prefix(limit))
        for aside in surplus { remove(aside) }
        return surplus
    }
}

// A kept copy is a damaged database in the form that SQLite can read: the unchanged file and, if
// needed, a separate log with corrections. The files themselves do not change until the new
// database is in place.
extension DataDirectory {
    /// Gives the files of a damaged database their second name.
    func linkFiles(to aside: String) throws(QueueError) {
        let stored = StoredPages(self)
        if stored.isLogAlone {
            try write([UInt8](repeating: 0, count: stored.pageBytes), to: aside)
        } else {
            try link(database, as: aside)
        }
        let first = FirstPage.mended(stored)
        guard stored.scan?.isDamaged == true || first?.isNew == true else {
            return try link(wal, as: aside + "-wal")
        }
        try link(wal, as: Self.damagedLog(of: aside))
        let descriptor = try create(aside + "-wal")
        let head = stored.scan?.head ?? WALHeader(pageBytes: stored.pageBytes)
        var mended = MendedLog(descriptor.number, head)
        guard mended.write(stored, first) else {
            throw problem("cannot hold a mended log", mended.code)
        }
    }

    static func damagedLog(of aside: String) -> String { aside.dropLast(2) + "log" }

    private func link(_ file: String, as name: String) throws(QueueError) {
        guard Glibc.link(file, name) == 0 || errno == ENOENT else {
            throw problem("cannot keep a damaged queue.db under another name", errno)
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(QueueError) {
        let descriptor = try create(path)
        let count = bytes.withUnsafeBytes {
            Glibc.write(descriptor.number, $0.baseAddress, $0.count)
        }
        guard count == bytes.count, fsync(descriptor.number) == 0 else {
            throw problem("cannot hold a file for a log that is alone", count < 0 ? errno : ENOSPC)
        }
    }

    private func create(_ path: String) throws(QueueError) -> OwnedDescriptor {
        let number = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw problem("cannot hold \(path)", errno) }
        return OwnedDescriptor(taking: number)
    }
}
