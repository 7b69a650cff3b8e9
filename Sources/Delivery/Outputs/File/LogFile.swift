import Configuration
import Glibc
import System

/// A file that grows by packets, and becomes an archive when it is large or old. For one thread.
final class LogFile: LineWriter {
    private var target: FileTarget
    private let calls: FileCalls
    private var archives: LogArchives
    private let notices: ArchiveNotices
    private let now: () -> WallTime
    private var file: OpenLogFile?
    /// True once a file that was there at the start is repaired, and rotated where it is due.
    private var hasLooked = false

    /// Lines in the file that are not safe yet are never more.
    private static let unsafeBytesMax = OpenLogFile.unsafeBytesMax - jsonBytesMax
    /// How often an idle file is looked at.
    private static let tendPause: Duration = .seconds(5)

    init(
        _ target: FileTarget,
        _ calls: FileCalls = FileCalls(),
        notices: ArchiveNotices,
        now: @escaping () -> WallTime = { .now }
    ) {
        self.target = target
        self.calls = calls
        self.notices = notices
        self.now = now
        archives = LogArchives(target, calls, notices)
    }

    func write(_ texts: [[UInt8]], isEnding: () -> Bool) -> [WriteProblem?] {
        // How many texts are safe, and how many are written.
        var (safe, written) = (0, 0)
        var problem: SystemError?
        func secure() throws(SystemError) {
            try file?.sync()
            safe = written
        }
        do throws(SystemError) {
            try followPath()
            for text in texts {
                if let file, file.bytes - file.safeBytes > Self.unsafeBytesMax { try secure() }
                _ = try opened()
                if isDue(before: text.count) {
                    try secure()
                    try rotate()
                }
                let file = try opened()
                do throws(SystemError) {
                    try file.append(text, at: now())
                } catch {
                    problem = error
                    break
                }
                written += 1
            }
            try secure()
        } catch {
            problem = error
        }
        if problem != nil {
            // The next write opens it again, and repairs what could not be undone.
            file = nil
        }
        let answer = problem.map { WriteProblem(ofFile: $0, target) }
        return texts.indices.map { $0 < safe ? nil : answer }
    }

    func use(_ settings: Destination) {
        file = nil
        hasLooked = false
        target = settings.file
        archives = LogArchives(target, calls, notices)
    }

    func tend() -> Duration? {
        do throws(SystemError) {
            try followPath()
            try look()
            if isDue(before: 0) { try rotate() }
        } catch {
            file = nil
        }
        if let wait = archives.tend() { return min(wait, Self.tendPause) }
        return file == nil ? nil : Self.tendPause
    }

    // MARK: - The file behind the path

    /// Opens a file of an earlier process even if no logs come: its readers find whole lines.
    private func look() throws(SystemError) {
        guard !hasLooked else { return }
        hasLooked = true
        if try LogFileIdentity(at: target.path) != nil { _ = try opened() }
    }

    private func opened() throws(SystemError) -> OpenLogFile {
        if let file { return file }
        let opened = try OpenLogFile(target, calls)
        file = opened
        return opened
    }

    /// Closes a file that was moved (logrotate), or changed by another program.
    private func followPath() throws(SystemError) {
        guard let file else { return }
        let isThere = try LogFileIdentity(at: target.path) == file.identity
        guard isThere, try file.isUntouched() else { return self.file = nil }
    }

    // MARK: - Rotation

    private func isDue(before bytes: Int) -> Bool {
        guard let file, file.bytes > 0 else { return false }
        if let most = target.rotation.bytes, file.bytes + bytes > most { return true }
        guard let age = target.rotation.age else { return false }
        // Ages end at the same times on every day and after every start, so a day's file begins at
        // midnight (UTC).
        let span = Int64(age / .seconds(1))
        return now().seconds / span > file.lastWrite.seconds / span
    }

    private func rotate() throws(SystemError) {
        try archives.add(at: now())
        file = nil
    }
}

extension WriteProblem {
    init(ofFile error: SystemError, _ target: FileTarget) {
        switch error {
        case OpenLogFile.special:
            self.init(
                code: "NOT_A_FILE",
                message: "\(target.path) is a pipe, a socket, a device or a directory",
                remedy: "name a regular file, or one that is not there yet"
            )
        case OpenLogFile.foreign:
            self.init(
                code: "NOT_LOGS",
                message: "\(target.path) exists and its first line is not a Sluice log",
                remedy: "move the file away, or choose another path"
            )
        case OpenLogFile.guarded:
            let reason =
                target.guarded.reasonNotToWrite(to: target.path) ?? "belongs to the gateway"
            self.init(
                code: "GUARDED",
                message: "\(target.path) \(reason)",
                remedy: "choose another path"
            )
        case _ where error.code == EWOULDBLOCK:
            self.init(
                code: "LOCKED",
                message: "\(target.path): another process has locked it",
                remedy: "let only one destination of one gateway write to a file"
            )
        default: self.init(error, target.path)
        }
    }
}

/// The calls that a full or broken disk lets fail. Tests put others in their place.
struct FileCalls {
    var write: (CInt, UnsafeRawPointer?, Int) -> Int = { Glibc.write($0, $1, $2) }
    var sync: (CInt) -> CInt = { fdatasync($0) }
    var truncate: (CInt, Int) -> CInt = { ftruncate($0, $1) }
    var rename: (String, String) -> CInt = { Glibc.rename($0, $1) }

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

    func write(all bytes: [UInt8], to file: CInt) throws(SystemError) {
        try bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in
            try write(all: bytes, to: file)
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
