import Glibc
import Queue
import System

// A damaged database is replaced so that a crash at any point loses neither the old files nor what was
// saved of them: while `queue.db` exists it is the truth; once it is gone, `queue.salvage.db` is complete.
extension DataDirectory {
    /// Where the new database grows while the old one is still in place.
    var salvage: String { path + "/queue.salvage.db" }

    private static let companions = ["", "-wal"]

    /// Gives the database's files a second name that stays. Returns it.
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
            // Were it there, a failure to link would remove it.
            guard errno == ENOENT else { throw problem("cannot hold \(name)", errno) }
        }
        return false
    }

    /// Takes the second name away again, while the first still stands: the next attempt gives another.
    func unlinkAside(_ aside: String) {
        guard access(database, F_OK) == 0 else { return }
        remove(aside)
    }

    func remove(_ aside: String) {
        for suffix in Self.companions + ["-shm"] { unlink(aside + suffix) }
        unlink(Self.damagedLog(of: aside))
        unlink(Self.mark(of: aside))
    }

    /// Puts the saved database in the place of the damaged one. Also finishes what a crash interrupted.
    func replaceDamaged() throws(QueueError) {
        unlink(database)
        try sync()
        // The old log must never meet the new database, not even where a file system forgets the one change in a
        // power cut and keeps the other.
        for suffix in ["-wal", "-shm"] { unlink(database + suffix) }
        try sync()
        guard rename(salvage, database) == 0 else {
            throw problem("cannot hold a new queue.db", errno)
        }
        try sync()
    }

    /// The next connection that opens the log builds its index again.
    func removeIndex(of database: String) {
        unlink(database + "-shm")
    }

    func removeSalvage() {
        for suffix in ["", "-wal", "-shm"] { unlink(salvage + suffix) }
    }
}

// Damaged databases that were moved aside. One with a mark is the only one that has logs which the queue does not have
// yet, and is never deleted. A few of the others are kept, to find the cause in.
extension DataDirectory {
    /// So many are kept that the queue has copied all of.
    static let damagedCopiesMax = 3

    static func mark(of aside: String) -> String { aside + "-unsaved" }

    private func mark(_ aside: String) throws(QueueError) {
        let descriptor = open(Self.mark(of: aside), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw problem("cannot hold \(Self.mark(of: aside))", errno) }
        _ = OwnedDescriptor(taking: descriptor)
    }

    /// Notes in the mark what is still to be copied. The queue's own database has that too, and the note counts where a later
    /// salvage cannot read it there. It may be older then: some logs arrive twice, and none is forgotten.
    func note(_ remainder: Remainder) { writeMark(of: remainder.file, remainder.bytes) }

    /// Nothing more is to be copied, and the mark stays.
    func forgetNote(of file: String) { writeMark(of: file, []) }

    private func writeMark(of file: String, _ bytes: [UInt8]) {
        let descriptor = open(Self.mark(of: "\(path)/\(file)"), O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        let mark = OwnedDescriptor(taking: descriptor)
        // A note that was written in part is none: it ends with a checksum.
        pwrite(mark.number, bytes, bytes.count, 0)
        ftruncate(mark.number, off_t(bytes.count))
    }

    /// What the marks of other copies say is still to be copied.
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

    /// The queue has all that can be read of it.
    func unmark(_ aside: String) {
        unlink(Self.mark(of: aside))
        // A mark that comes back with a power cut costs space and no logs.
        try? sync()
    }

    /// The paths of those that are kept, the oldest first.
    var damagedCopies: [String] {
        names.filter { $0.hasPrefix("queue.corrupt-") && $0.hasSuffix(".db") }
            // Without the end: a second one of the same second comes behind the first.
            .sorted { $0.dropLast(3) < $1.dropLast(3) }
            .map { "\(path)/\($0)" }
    }

    /// The copies that are never deleted, the oldest first: each may have the only copy of logs. A mark that cannot be looked
    /// at counts as one.
    var unsavedCopies: [String] {
        damagedCopies.filter { access(Self.mark(of: $0), F_OK) == 0 || errno != ENOENT }
    }

    /// What the copy takes of the disk, with its logs.
    func bytes(of aside: String) -> Int {
        let paths = Self.companions.map { aside + $0 } + [Self.damagedLog(of: aside)]
        return paths.reduce(0) { sum, path in
            var about = stat()
            return stat(path, &about) == 0 ? sum + Int(about.st_blocks) * 512 : sum
        }
    }

    /// Deletes the oldest copies that may be deleted, until `most` of these are left, and no more than `limit`. Returns
    /// what it has deleted. The queue still copies from the files named `inUse`.
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

// What is kept of a damaged database is what SQLite can read of it: the file as it is, and where that does not do
// a log of its own, which says what the file does not. The files themselves stay as they were found until the new
// database is there.
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
            return try link(log, as: aside + "-wal")
        }
        try link(log, as: Self.damagedLog(of: aside))
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
