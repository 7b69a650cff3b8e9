import Configuration
import Glibc
import Logs
import System

/// A file's archives: `NAME.20250114T083000Z.1`, then `.gz` or `.zst` once compressed. The
/// directory tells what is to be done, so it goes on after a restart.
final class LogArchives {
    private let target: FileTarget
    private let calls: FileCalls
    private let notices: ArchiveNotices
    private var compression: ArchiveCompression?
    /// True when nothing in the directory is left to remove or to compress.
    private var isTidy = false
    private var retryAt = Moment.now

    static let retryPause: Duration = .seconds(60)

    init(_ target: FileTarget, _ calls: FileCalls, _ notices: ArchiveNotices) {
        self.target = target
        self.calls = calls
        self.notices = notices
    }

    /// Makes the file an archive. No archive is overwritten.
    func add(at time: WallTime) throws(SystemError) {
        let stem = "\(target.path).\(ArchiveName.text(time))"
        var number = 1
        while try isTaken("\(stem).\(number)") { number += 1 }
        let name = "\(stem).\(number)"
        _ = try system("rename") { calls.rename(target.path, name) }
        isTidy = false
        try calls.syncDirectory(target.directory)
    }

    private func isTaken(_ path: String) throws(SystemError) -> Bool {
        for compression in FileTarget.Compression.allCases
        where try LogFileIdentity(at: path + compression.suffix) != nil {
            return true
        }
        return false
    }

    /// Does a piece of the work, and returns when to call again; nil when all is done.
    func tend() -> Duration? {
        let wait = retryAt - .now
        if wait > .zero { return wait }
        do throws(SystemError) {
            if let compression {
                if try compression.advance() { self.compression = nil }
                return .zero
            }
            if isTidy { return nil }
            return try tidy()
        } catch {
            // A full disk, as a rule. The archive stays as it is, and nothing of it is lost.
            compression = nil
            notices.failed(target, error)
            retryAt = .now + Self.retryPause
            return Self.retryPause
        }
    }

    /// Removes what is too old, and starts the next compression.
    private func tidy() throws(SystemError) -> Duration? {
        var archives: [ArchiveName] = []
        for name in fileNames(in: target.directory) {
            guard let archive = ArchiveName(name, of: target.name) else { continue }
            if archive.isPartial {
                try remove(archive)
            } else {
                archives.append(archive)
            }
        }
        archives.sort()
        let groups = Dictionary(grouping: archives, by: \.original)
        let kept = Set(
            groups.keys.sorted { groups[$0]![0] < groups[$1]![0] }.suffix(target.rotation.keep)
        )
        for archive in archives where !kept.contains(archive.original) { try remove(archive) }
        archives.removeAll { !kept.contains($0.original) }
        for archive in archives where !archive.isCompressed && isOurs(archive) {
            // A crash came between the last two steps of its compression.
            if groups[archive.original, default: []].contains(where: \.isCompressed) {
                try remove(archive)
            } else if target.rotation.compression != .none {
                compression = try ArchiveCompression(
                    "\(target.directory)/\(archive.name)",
                    target,
                    calls
                )
                return .zero
            }
        }
        isTidy = true
        notices.recovered(target)
        return nil
    }

    /// False for what only has an archive's name: a pipe, or a file of another setting.
    private func isOurs(_ archive: ArchiveName) -> Bool {
        var facts = stat()
        let path = "\(target.directory)/\(archive.name)"
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
            && target.guarded.reasonNotToWrite(to: path) == nil
    }

    private func remove(_ archive: ArchiveName) throws(SystemError) {
        guard isOurs(archive) else { return }
        let path = "\(target.directory)/\(archive.name)"
        do throws(SystemError) {
            _ = try system("unlink") { unlink(path) }
        } catch {
            guard error.code == ENOENT else { throw error }
        }
    }
}

/// Tells once that archives fail, and once that they work again. Outlives changed settings.
final class ArchiveNotices {
    private let destination: String
    private let journal: Journal
    private var hasFailed = false

    init(_ destination: String, _ journal: Journal) {
        self.destination = destination
        self.journal = journal
    }

    func failed(_ target: FileTarget, _ error: SystemError) {
        guard !hasFailed else { return }
        hasFailed = true
        let problem = WriteProblem(error, target.path)
        journal.warning(
            "archives of a file cannot be compressed or removed; they stay as they are",
            [
                "destination": destination, "path": target.path, "code": problem.code,
                "reason": "\(error)", "remedy": problem.remedy,
                "next_try_seconds": Int(LogArchives.retryPause / .seconds(1)),
            ]
        )
    }

    func recovered(_ target: FileTarget) {
        guard hasFailed else { return }
        hasFailed = false
        journal.info(
            "archives of a file are compressed and removed again",
            ["destination": destination, "path": target.path]
        )
    }
}

/// Compresses an archive step by step, so that packets need not wait, and replaces it once its
/// compressed form is safe.
final class ArchiveCompression {
    private let path: String
    private let compressed: String
    private let partial: String
    private let directory: String
    private let calls: FileCalls
    private let source: OwnedDescriptor
    private let sink: OwnedDescriptor
    private var stream: StreamCompressor

    private static let stepBytes = 1 << 20

    init(_ path: String, _ target: FileTarget, _ calls: FileCalls) throws(SystemError) {
        let format = target.rotation.compression
        self.path = path
        self.calls = calls
        directory = target.directory
        let compressed = path + format.suffix
        let partial = compressed + ArchiveName.partial
        (self.compressed, self.partial) = (compressed, partial)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        let reading = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        source = OwnedDescriptor(taking: try system("open") { open(path, reading) })
        sink = OwnedDescriptor(taking: try system("open") { open(partial, flags, target.mode) })
        // zlib's and zstd's usual levels: archives are written once and kept long.
        stream =
            format == .gzip
            ? StreamCompressor(.gzip, level: 6) : StreamCompressor(.zstd, level: 3)
    }

    deinit { unlink(partial) }

    /// Compresses the next part; true when the archive is replaced.
    func advance() throws(SystemError) -> Bool {
        let part = [UInt8](unsafeUninitializedCapacity: Self.stepBytes) { buffer, filled in
            filled = max(0, read(source.number, buffer.baseAddress, Self.stepBytes))
        }
        guard part.isEmpty else {
            try calls.write(all: part.withUnsafeBytes { stream.append($0) }, to: sink.number)
            return false
        }
        try checkEnd()
        try calls.write(all: stream.finish(), to: sink.number)
        _ = try system("fdatasync") { calls.sync(sink.number) }
        _ = try system("rename") { calls.rename(partial, compressed) }
        try calls.syncDirectory(directory)
        _ = try system("unlink") { unlink(path) }
        return true
    }

    /// A failed read must not pass for the end.
    private func checkEnd() throws(SystemError) {
        var facts = stat()
        _ = try system("fstat") { fstat(source.number, &facts) }
        let position = try system("lseek") { lseek(source.number, 0, SEEK_CUR) }
        guard position == facts.st_size else { throw SystemError(call: "read", code: EIO) }
    }
}
