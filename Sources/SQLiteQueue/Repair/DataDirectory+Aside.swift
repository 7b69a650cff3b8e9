import Glibc
import Queue
import System

// The order of the replacement loses nothing in a crash at any point: while `queue.db` exists, it
// is valid, and after it is gone, `queue.salvage.db` is complete.
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

    /// Replaces the damaged database, or finishes an interrupted replacement.
    func replaceDamaged() throws(QueueError) {
        unlink(database)
        try sync()
        // The old log must never meet the new database, even if a power cut undoes one of two
        // changes.
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

// Databases that were moved aside. One with a mark may have the only copy of some logs and is never
// deleted. A few of the others are kept for finding the cause.
extension DataDirectory {
    /// The number of completely copied databases that are kept.
    static let damagedCopiesMax = 3

    static func mark(of aside: String) -> String { aside + "-unsaved" }

    private func mark(_ aside: String) throws(QueueError) {
        let mark = Self.mark(of: aside)
        _ = try opened(mark, O_CREAT | O_WRONLY, "cannot hold \(mark)")
    }

    /// Records in the mark what is not copied yet, in case a later salvage cannot read the queue's
    /// own record. The mark may be older: then some logs arrive twice, and none is lost.
    func note(_ remainder: Remainder) { writeMark(of: remainder.file, remainder.bytes) }

    /// Empties the mark, which stays: nothing more is to be copied.
    func clearNote(of file: String) { writeMark(of: file, []) }

    private func writeMark(of file: String, _ bytes: [UInt8]) {
        let mark = try? OwnedDescriptor(opening: Self.mark(of: "\(path)/\(file)"), O_WRONLY)
        guard let mark else { return }
        // A partly written note does not count: a note ends with a checksum.
        pwrite(mark.number, bytes, bytes.count, 0)
        ftruncate(mark.number, off_t(bytes.count))
    }

    /// The remainders in the marks of other copies.
    func notedRemainders(besides aside: String) -> [Remainder] {
        unsavedCopies.filter { $0 != aside }.compactMap { other in
            content(of: Self.mark(of: other)).flatMap { Remainder(of: name(of: other), $0) }
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
            // Without the end, so that the second copy of one second comes after the first.
            .sorted { $0.dropLast(3) < $1.dropLast(3) }
            .map { "\(path)/\($0)" }
    }

    /// The copies that are never deleted, oldest first: each may have the only copy of logs. If the
    /// disk cannot report on a mark, the mark counts as present.
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

    /// Deletes the oldest deletable copies until `most` are left, at most `limit` at a time. The
    /// queue still copies from the files `inUse`.
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

// A kept copy is the unchanged file and, if needed, a separate log with corrections, so that SQLite
// can read it. The files do not change until the new database is in place.
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
        let file = try create(path)
        let count = Glibc.write(file.number, bytes, bytes.count)
        guard count == bytes.count, fsync(file.number) == 0 else {
            throw problem("cannot hold a file for a log that is alone", count < 0 ? errno : ENOSPC)
        }
    }

    private func create(_ path: String) throws(QueueError) -> OwnedDescriptor {
        try opened(path, O_CREAT | O_EXCL | O_WRONLY, "cannot hold \(path)")
    }

    /// Nil if it cannot be read.
    private func content(of path: String) -> [UInt8]? {
        guard let file = try? OwnedDescriptor(opening: path, O_RDONLY) else { return nil }
        return WALScan.read(file.number, fileSize(path) ?? 0, at: 0)
    }
}

// A kill during a salvage leaves an incomplete new database, or second names of files in use. A
// start settles that before anything opens the database.
extension DataDirectory {
    /// Undoes an interrupted salvage, or finishes one whose new database is complete.
    func settleSalvage() throws(QueueError) {
        if access(database, F_OK) == 0 {
            // The database is valid as long as it exists: see `replaceDamaged`.
            removeSalvage()
            for aside in secondNames where isSuperfluous(aside) { remove(aside) }
        } else if errno != ENOENT {
            // The disk does not report on the file, so the database may exist.
            throw problem("cannot hold queue.db", errno)
        } else if access(salvage, F_OK) == 0 {
            try replaceDamaged()
        }
    }

    /// The paths of databases that were moved aside, even if only a companion is left.
    private var secondNames: Set<String> {
        let ends = [".db", ".db-wal", ".db-shm", ".db-unsaved", ".log"]
        var found: Set<String> = []
        for name in names where name.hasPrefix("queue.corrupt-") {
            guard let end = ends.first(where: { name.hasSuffix($0) }) else { continue }
            found.insert("\(path)/\(name.dropLast(end.count)).db")
        }
        return found
    }

    /// True if the database and its log have all of it. Otherwise it may be the only copy of logs.
    private func isSuperfluous(_ aside: String) -> Bool {
        let log = Self.damagedLog(of: aside)
        // If a damaged log exists, the other log was made of its sound frames.
        let original = FileIdentity(log) == .absent ? aside + "-wal" : log
        // An interrupted salvage left its mark. Copies without one are kept for finding the cause.
        let isMarked = FileIdentity(Self.mark(of: aside)) != .absent
        func isSame(_ second: String, _ first: String) -> Bool {
            self.isSame(second, first) || (isMarked && hasSameBytes(second, first))
        }
        return (isSame(aside, database) || isPlaceholder(aside)) && isSame(original, wal)
    }

    private func isSame(_ second: String, _ first: String) -> Bool {
        switch FileIdentity(second) {
        case .absent: true
        case .unknown: false
        case .file(_, _, bytes: 0): true
        case let file: file == FileIdentity(first)
        }
    }

    /// A copied or restored directory has two files instead of two names of one.
    private func hasSameBytes(_ second: String, _ first: String) -> Bool {
        guard let count = fileSize(second), count == fileSize(first) else { return false }
        guard let left = try? OwnedDescriptor(opening: second, O_RDONLY),
            let right = try? OwnedDescriptor(opening: first, O_RDONLY)
        else { return false }
        let portion = 1 << 20
        for offset in stride(from: 0, to: count, by: portion) {
            let size = min(portion, count - offset)
            guard let bytes = WALScan.read(left.number, size, at: offset),
                bytes == WALScan.read(right.number, size, at: offset)
            else { return false }
        }
        return true
    }

    /// True for the page of zeroes that accompanies a log without a database.
    private func isPlaceholder(_ path: String) -> Bool {
        guard let bytes = fileSize(path), bytes <= 1 << 16 else { return false }
        return content(of: path)?.allSatisfy { $0 == 0 } == true
    }
}

/// Two names with the same identity are one file.
private enum FileIdentity: Equatable {
    case file(device: dev_t, inode: ino_t, bytes: Int)
    /// The name leads to no file.
    case absent
    /// The disk does not report on the file. It may exist.
    case unknown

    init(_ path: String) {
        var about = stat()
        if stat(path, &about) == 0 {
            let bytes = Int(about.st_size)
            self = .file(device: about.st_dev, inode: about.st_ino, bytes: bytes)
        } else {
            self = errno == ENOENT ? .absent : .unknown
        }
    }
}
