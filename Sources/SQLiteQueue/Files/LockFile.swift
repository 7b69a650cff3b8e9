import Glibc
package import Queue
import System

/// Keeps a second process off a directory as long as this is there. The kernel releases it when the
/// process ends.
package final class DirectoryLock: Sendable {
    private let descriptor: OwnedDescriptor

    package convenience init(_ path: String) throws(QueueError) {
        let directory = DataDirectory(path: path)
        try directory.create()
        try self.init(directory)
    }

    init(_ directory: DataDirectory) throws(QueueError) {
        let path = directory.lock
        let held = try Self.open(path, directory)
        let opened = held.number
        do throws(SystemError) {
            _ = try system("flock") { flock(opened, LOCK_EX | LOCK_NB) }
        } catch {
            guard error.code == EWOULDBLOCK else {
                throw QueueError(.directory, "\(path) cannot be locked: \(error).")
            }
            throw QueueError(
                .inUse,
                "\(directory.path) is in use by process \(Self.holder(opened)); stop it or set data_dir to another directory."
            )
        }
        // The line is information for people; the lock is decisive.
        let line = Array("\(getpid())\n".utf8)
        _ = ftruncate(opened, 0)
        _ = line.withUnsafeBytes { pwrite(opened, $0.baseAddress, $0.count, 0) }
        descriptor = held
    }

    /// Never opens a file that another user put in its place: root inspects queues too and writes
    /// into the file that it opens.
    private static func open(
        _ path: String,
        _ directory: DataDirectory
    ) throws(QueueError) -> OwnedDescriptor {
        let how = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        var owner = stat()
        let isKnown = stat(directory.path, &owner) == 0
        let made = Glibc.open(path, how | O_CREAT | O_EXCL, 0o600)
        let failure = errno
        if made >= 0 {
            let descriptor = OwnedDescriptor(taking: made)
            // If root inspects a queue, the lock file must not keep the queue's user out
            // afterwards.
            if geteuid() == 0, isKnown { _ = fchown(made, owner.st_uid, owner.st_gid) }
            return descriptor
        }
        let opened: CInt
        do throws(SystemError) {
            guard failure == EEXIST else { throw SystemError(call: "open", code: failure) }
            opened = try system("open") { Glibc.open(path, how) }
        } catch {
            throw directory.problem("cannot hold sluice.lock", error.code)
        }
        let descriptor = OwnedDescriptor(taking: opened)
        var about = stat()
        // A second name of a file of the same user is fine, as in copies made of links.
        guard fstat(opened, &about) == 0, about.st_mode & S_IFMT == S_IFREG,
            about.st_nlink == 1 || isKnown && about.st_uid == owner.st_uid
        else {
            throw QueueError(
                .directory,
                "\(path) is not a regular file but a link or something else; find out who put it there and remove it."
            )
        }
        return descriptor
    }

    private static func holder(_ descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = bytes.withUnsafeMutableBytes {
            pread(descriptor, $0.baseAddress, $0.count, 0)
        }
        let digits = bytes.prefix(max(0, count)).prefix { $0 >= 0x30 && $0 <= 0x39 }
        return digits.isEmpty ? "(unknown)" : String(decoding: digits, as: UTF8.self)
    }
}
