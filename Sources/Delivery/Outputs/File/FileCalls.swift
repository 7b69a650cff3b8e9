import Glibc
import System

/// The calls that a full or broken disk lets fail. Tests put others in their place.
struct FileCalls {
    var write: (CInt, UnsafeRawPointer?, Int) -> Int = { Glibc.write($0, $1, $2) }
    var sync: (CInt) -> CInt = { fdatasync($0) }
    var truncate: (CInt, Int) -> CInt = { ftruncate($0, $1) }
    var rename: (String, String) -> CInt = { Glibc.rename($0, $1) }
}

extension FileCalls {
    /// Writes all of it, or throws after a part.
    func write(all bytes: UnsafeRawBufferPointer, to file: CInt) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            let count = try system("write") { write(file, part.baseAddress, part.count) }
            // Nothing but a full disk lets a regular file take nothing.
            guard count > 0 else { throw SystemError(call: "write", code: ENOSPC) }
            rest = rest.dropFirst(count)
        }
    }

    /// Makes new and changed names in a directory durable.
    func syncDirectory(_ path: String) throws(SystemError) {
        let opened = try system("open") { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        let directory = OwnedDescriptor(taking: opened)
        do throws(SystemError) {
            _ = try system("fsync") { fsync(directory.number) }
        } catch {
            // Some file systems sync no directories.
            guard error.code == EINVAL else { throw error }
        }
    }
}

/// Tells whether two names or descriptors are those of one file.
struct LogFileIdentity: Equatable {
    private let device: dev_t
    private let inode: ino_t

    init(_ facts: stat) {
        device = facts.st_dev
        inode = facts.st_ino
    }

    /// nil when nothing has this name.
    init?(at path: String) throws(SystemError) {
        var facts = stat()
        do throws(SystemError) {
            _ = try system("stat") { lstat(path, &facts) }
        } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
        self.init(facts)
    }
}
