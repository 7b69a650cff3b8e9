import Glibc
import Queue
import System

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
