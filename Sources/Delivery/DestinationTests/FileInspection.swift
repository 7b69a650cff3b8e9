import Configuration
import Glibc
import System

/// Tests without writing whether a `file` destination could write: the file's kind, permissions,
/// and the free space. May wait for the disk.
struct FileInspection {
    let target: FileTarget

    func result(of destination: String) -> DestinationTest {
        do throws(SystemError) {
            let size = try existingBytes()
            // A file that stays where it is needs nothing of its directory.
            if size == nil || rotates { try makeUnnamed() }
            let free = try freeBytes()
            guard free > 0 else { throw SystemError(call: "statvfs", code: ENOSPC) }
            let content = size.map { "has \(roughSize($0))" } ?? "is not there yet and can be made"
            return DestinationTest(
                destination,
                at: target.path,
                fine: "\(target.path) \(content); \(roughSize(free)) are free. Nothing was written"
            )
        } catch {
            let problem = WriteProblem(ofFile: error, target)
            return DestinationTest(destination, at: target.path, problem)
        }
    }

    private var rotates: Bool { target.rotation.bytes != nil || target.rotation.age != nil }

    /// The size of the file; nil when it is not there. Throws when it cannot be written.
    private func existingBytes() throws(SystemError) -> Int? {
        // As the writer opens it, but it makes no file.
        let flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let file: OwnedDescriptor
        do throws(SystemError) {
            file = OwnedDescriptor(taking: try system("open") { open(target.path, flags) })
        } catch {
            // The directory's turn comes next, and tells whether it is the one that is missing.
            guard error.code == ENOENT else { throw error }
            return nil
        }
        return Int(try OpenLogFile.check(file.number, target).st_size)
    }

    /// `__O_TMPFILE` of Linux, which the C library's headers show to GNU programs only.
    private static let unnamedFile: CInt = 0o20_000_000 | O_DIRECTORY

    /// Makes a file without a name, which goes when it is closed: the only test that asks
    /// permissions, quotas and read-only mounts alike.
    private func makeUnnamed() throws(SystemError) {
        do throws(SystemError) {
            let flags = Self.unnamedFile | O_WRONLY | O_CLOEXEC
            _ = OwnedDescriptor(
                taking: try system("open") { open(target.directory, flags, target.mode) }
            )
        } catch {
            // Some file systems know no such files.
            guard [EOPNOTSUPP, EISDIR, EINVAL].contains(error.code) else { throw error }
            _ = try system("access") { access(target.directory, W_OK | X_OK) }
        }
    }

    /// For a process without privileges, as the gateway should be.
    private func freeBytes() throws(SystemError) -> Int {
        var facts = statvfs()
        _ = try system("statvfs") { statvfs(target.directory, &facts) }
        return Int(
            clamping: UInt64(facts.f_bavail).multipliedReportingOverflow(by: UInt64(facts.f_frsize))
                .partialValue
        )
    }
}

/// Tests whether standard output is open and has a reader, without writing.
struct StdoutInspection {
    var descriptor = STDOUT_FILENO

    func result(of destination: String) -> DestinationTest {
        func refused(_ error: SystemError) -> DestinationTest {
            DestinationTest(destination, at: "stdout", WriteProblem(error, "standard output"))
        }
        var facts = stat()
        do throws(SystemError) {
            _ = try system("fstat") { fstat(descriptor, &facts) }
        } catch {
            return refused(error)
        }
        let mode = fcntl(descriptor, F_GETFL) & O_ACCMODE
        guard mode != O_RDONLY else { return refused(SystemError(call: "write", code: EBADF)) }
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let ready = poll(&entry, 1, 0)
        // A pipe whose reader has closed its end reports an error.
        if ready > 0, entry.revents & Int16(POLLERR | POLLHUP) != 0 {
            return refused(SystemError(call: "write", code: EPIPE))
        }
        guard ready > 0 else {
            let problem = WriteProblem(
                code: "STUCK",
                message: "standard output is open, but its reader is not reading",
                remedy:
                    "see why the reader of the gateway's standard output is slow; logs wait meanwhile"
            )
            return DestinationTest(destination, at: "stdout", problem, .undecided)
        }
        return DestinationTest(
            destination,
            at: "stdout",
            fine: "standard output is \(kind(facts)). Nothing was written"
        )
    }

    private func kind(_ facts: stat) -> String {
        switch facts.st_mode & S_IFMT {
        case S_IFIFO: "a pipe, and its reader is there"
        case S_IFSOCK: "a socket, and its reader is there"
        case S_IFREG: "a file of \(roughSize(Int(facts.st_size)))"
        case S_IFCHR:
            isatty(descriptor) == 1
                ? "a terminal"
                : isNull(facts) ? "/dev/null: logs are delivered nowhere" : "a device"
        default: "open"
        }
    }

    private func isNull(_ facts: stat) -> Bool {
        var null = stat()
        return stat("/dev/null", &null) == 0 && null.st_rdev == facts.st_rdev
    }
}
