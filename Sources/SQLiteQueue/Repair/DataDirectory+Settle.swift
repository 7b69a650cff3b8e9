import Glibc
import Queue
import System

// A kill during a salvage leaves an incomplete new database, or second names of files that are
// still in use under their first names. A start settles that before anything opens the database.
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

    /// True if the database and its log have all content under this name. A copy that replaced
    /// neither may have the only copy of logs.
    private func isSuperfluous(_ aside: String) -> Bool {
        let log = Self.damagedLog(of: aside)
        // If a damaged log exists, the other log was made of its sound frames.
        let original = FileIdentity(log) == .absent ? aside + "-wal" : log
        // An interrupted salvage has left its mark. Copies without a mark are kept for finding the
        // cause.
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

    /// Compares the content: a copied or restored directory has two files instead of two names of
    /// one file.
    private func hasSameBytes(_ second: String, _ first: String) -> Bool {
        guard let count = fileSize(second), count == fileSize(first) else { return false }
        let (left, right) = (open(second, O_RDONLY | O_CLOEXEC), open(first, O_RDONLY | O_CLOEXEC))
        let files = [left, right].filter { $0 >= 0 }
        defer { for file in files { close(file) } }
        guard files.count == 2 else { return false }
        let portion = 1 << 20
        for offset in stride(from: 0, to: count, by: portion) {
            let size = min(portion, count - offset)
            guard let bytes = WALScan.read(left, size, at: offset),
                bytes == WALScan.read(right, size, at: offset)
            else { return false }
        }
        return true
    }

    /// True for the page of zeroes that accompanies a log without a database.
    private func isPlaceholder(_ path: String) -> Bool {
        guard let bytes = fileSize(path), bytes <= 1 << 16 else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        let file = OwnedDescriptor(taking: descriptor)
        return WALScan.read(file.number, bytes, at: 0)?.allSatisfy { $0 == 0 } == true
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
