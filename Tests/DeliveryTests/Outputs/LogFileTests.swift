import Glibc
import Logs
import System
import TestSupport
import Testing

@testable import Configuration
@testable import Delivery

/// A log of this second, as Sluice writes it.
private func log(_ second: Int) -> String {
    "{\"date\":\"2025-01-14T08:30:0\(second)Z\",\"tag\":\"\"}\n"
}

@Suite(.timeLimit(.minutes(10))) struct LogFileTests {
    private let directory = TemporaryDirectory()
    private var path: String { "\(directory.path)/logs.ndjson" }
    private var content: String { String(decoding: readFile(path), as: UTF8.self) }

    /// The kernel's answers, with failures in some places.
    final class Disk {
        /// What is left on the disk; nil is plenty.
        var room: Int?
        var failsToSync = false
        var failsToTruncate = false
        private(set) var syncs = 0

        var calls: FileCalls {
            FileCalls(
                write: { [self] file, start, count in
                    guard let left = room else { return Glibc.write(file, start, count) }
                    guard left > 0 else {
                        errno = ENOSPC
                        return -1
                    }
                    room = left - min(left, count)
                    return Glibc.write(file, start, min(left, count))
                },
                sync: { [self] file in
                    syncs += 1
                    guard failsToSync else { return fdatasync(file) }
                    errno = EIO
                    return -1
                },
                truncate: { [self] file, size in
                    guard failsToTruncate else { return ftruncate(file, size) }
                    errno = EIO
                    return -1
                }
            )
        }
    }

    private func file(
        _ disk: Disk = Disk(),
        _ rotation: FileTarget.Rotation = FileTarget.Rotation(),
        now: @escaping () -> WallTime = { .now }
    ) -> LogFile {
        var target = FileTarget(path: path)
        target.rotation = rotation
        return LogFile(target, disk.calls, notices: ArchiveNotices("app", .silent), now: now)
    }

    private func write(_ texts: String..., to file: LogFile) -> [String?] {
        file.write(texts.map { Array($0.utf8) }) { false }.map { $0?.code }
    }

    // MARK: - Writing

    @Test("Lines are appended, and all that come together share one sync")
    func appends() {
        let disk = Disk()
        let file = file(disk)
        #expect(write(log(1), log(2), to: file) == [nil, nil])
        #expect(disk.syncs == 1)
        #expect(write(log(3), to: file) == [nil])
        #expect(content == log(1) + log(2) + log(3))
        var facts = stat()
        #expect(stat(path, &facts) == 0 && facts.st_mode & 0o137 == 0)
    }

    @Test("A full disk refuses what does not fit, leaves no part of it, and takes it later")
    func fullDisk() {
        let disk = Disk()
        let file = file(disk)
        disk.room = log(1).utf8.count + 4
        #expect(write(log(1), log(2), log(0), to: file) == [nil, "ENOSPC", "ENOSPC"])
        #expect(content == log(1))
        #expect(write(log(2), to: file) == ["ENOSPC"])
        disk.room = nil
        #expect(write(log(2), to: file) == [nil])
        #expect(content == log(1) + log(2))
    }

    @Test("A part that cannot be cut off is cut off when the file is opened again")
    func uncut() {
        let disk = Disk()
        let file = file(disk)
        #expect(write(log(1), to: file) == [nil])
        (disk.room, disk.failsToTruncate) = (5, true)
        #expect(write(log(2), to: file) == ["ENOSPC"])
        #expect(content == log(1) + "{\"dat")
        (disk.room, disk.failsToTruncate) = (nil, false)
        #expect(write(log(2), to: file) == [nil])
        #expect(content == log(1) + log(2))
    }

    @Test("After a failed sync nothing of it is taken for safe, or left in the file")
    func failedSync() {
        let disk = Disk()
        let file = file(disk)
        #expect(write(log(1), to: file) == [nil])
        disk.failsToSync = true
        #expect(write(log(2), log(3), to: file) == ["EIO", "EIO"])
        #expect(content == log(1))
        disk.failsToSync = false
        #expect(write(log(2), to: file) == [nil])
        #expect(content == log(1) + log(2))
    }

    @Test("Nothing is taken for safe either when the sync before a rotation fails")
    func failedSyncOfRotation() {
        let disk = Disk()
        let file = file(disk, FileTarget.Rotation(bytes: 100))
        disk.failsToSync = true
        let codes = write(
            log(1),
            log(2),
            log(3),
            to: file
        )
        #expect(codes == ["EIO", "EIO", "EIO"])
        #expect(content.isEmpty)
        #expect(directory.names == ["logs.ndjson"])
    }

    // MARK: - What stands at the path

    @Test("Each thing that cannot be written to has a reason, and none holds the thread")
    func unfit() throws {
        let file = file()
        mkdir(path, 0o755)
        #expect(write(log(0), to: file) == ["EISDIR"])
        rmdir(path)
        symlink("/dev/null", path)
        #expect(write(log(0), to: file) == ["ELOOP"])
        unlink(path)
        mkfifo(path, 0o644)
        #expect(write(log(0), to: file) == ["NOT_A_FILE"])
        #expect(FileTarget(path: path).refusal?.contains("is a pipe") == true)
        unlink(path)
        #expect(write(log(0), to: file) == [nil])
        directory.remove()
        #expect(write(log(0), to: file) == ["ENOENT"])
        mkdir(directory.path, 0o755)
        #expect(write(log(0), to: file) == [nil])
    }

    @Test("A second writer of one file is refused, until the first has gone")
    func locked() {
        var first: LogFile? = file()
        let second = file()
        if let first { #expect(write(log(0), to: first) == [nil]) }
        #expect(write(log(0), to: second) == ["LOCKED"])
        first = nil
        #expect(write(log(0), to: second) == [nil])
    }

    @Test("A file that is renamed, removed or emptied is followed by a new one")
    func moved() {
        let file = file()
        #expect(write(log(1), to: file) == [nil])
        rename(path, path + ".1")
        #expect(write(log(2), to: file) == [nil])
        #expect(content == log(2))
        unlink(path)
        #expect(write(log(3), to: file) == [nil])
        #expect(content == log(3))
        truncate(path, 0)
        #expect(write(log(4), to: file) == [nil])
        #expect(content == log(4))
        #expect(readFile(path + ".1") == Array(log(1).utf8))
    }

    @Test("An idle file lets go of what logrotate has moved")
    func idle() throws {
        let file = file()
        #expect(write(log(0), to: file) == [nil])
        #expect(file.tend() != nil)
        rename(path, path + ".1")
        #expect(file.tend() == nil)
    }

    // MARK: - Files of others

    @Test(
        "A file that does not begin with a log is neither repaired nor appended to",
        arguments: [
            "SQLite format 3\0\(log(1))", "listen: 0.0.0.0:8080\n# no end", "\0\0key",
            "{\"a\":1}\n{\"date\":\"", "{\"data\":\"", "\n\(log(1))", "x", "[\(log(1))]",
            " \(log(1))", "{\"date\":\"1\"}\n", "{\"date\":1736843400.5,\"log\":\"a\"}\n",
            "{\"date\":\"2025-01-14T08:30:00Z\",\"level\":\"info\"}\nno end",
            "{\"time\":\"2025-01-14T08:30:00.123456789Z\",\"level\":\"INFO\",\"msg\":\"a\"}\n",
            "{\"time\":\"2025-01-14T08:30:00+01:00\",\"tag\":\"a\"}\n", "{\"time\":1736843400}\n",
            "\0\0{\"time\":\"2025-01-14T08:30:00Z\",\"level\":\"INFO\"}\n", "\0{\"",
        ]
    )
    func foreign(text: String) {
        directory.file("logs.ndjson", text)
        let file = file()
        #expect(file.tend() == nil)
        #expect(write(log(1), to: file) == ["NOT_LOGS"])
        #expect(content == text)
        #expect(FileTarget(path: path).refusal?.contains("move the file away") == true)
        // The destination goes on when the file is away.
        rename(path, path + ".old")
        #expect(FileTarget(path: path).refusal == nil)
        #expect(write(log(1), to: file) == [nil])
        #expect(FileTarget(path: path).refusal == nil)
    }

    @Test("A file of nested logs is ours, wherever it is cut off")
    func nested() {
        for part in ["", ".123", ".123456", ".123456789"] {
            let begun = "{\"time\":\"2025-01-14T08:30:00\(part)Z\",\"tag\":\""
            let line = begun + "\",\"topic\":\"\",\"source\":\"\",\"tags\":{},\"fields\":{}}\n"
            directory.file("logs.ndjson", line)
            #expect(write("{\"z\":0}\n", to: file()) == [nil])
            #expect(content == line + "{\"z\":0}\n")
            for size in 0..<begun.utf8.count {
                let start = String(line.prefix(size))
                // The name of the first member is whole before bytes are lost.
                for text in size < 9 ? [start] : [start, start + "\0\0\0"] {
                    directory.file("logs.ndjson", text)
                    #expect(write(line, to: file()) == [nil], "cut at \(size)")
                    #expect(content == line)
                }
            }
        }
    }

    @Test("Empty bytes before a line of ours are a crash's, and go with what follows")
    func emptyStart() {
        let line = "{\"time\":\"2025-01-14T08:30:00Z\",\"tag\":\"a\"}\n"
        for later in [log(1), line + line, "end\"}}\n" + line] {
            for count in [1, 4096, 300_000] {
                directory.file("logs.ndjson", String(repeating: "\0", count: count) + later)
                #expect(FileTarget(path: path).refusal == nil)
                #expect(write(line, to: file()) == [nil])
                #expect(content == line)
            }
        }
    }

    @Test("A file whose bytes a power cut left empty is ours")
    func empty() {
        directory.file("logs.ndjson", String(repeating: "\0", count: 300_000))
        #expect(write(log(1), to: file()) == [nil])
        #expect(content == log(1))
    }

    @Test("No name leads to a file of the gateway, and none is made in its data directory")
    func guarded() {
        let line = log(1)
        let data = "\(directory.path)/data"
        mkdir(data, 0o755)
        mkdir("\(data)/shards", 0o755)
        symlink(data, "\(directory.path)/link")
        symlink("\(directory.path)/token", "\(directory.path)/link-to-token")
        for name in ["data/queue.db", "data/shards/a.db", "token"] { directory.file(name, line) }
        link("\(data)/shards/a.db", "\(directory.path)/other-name.db")
        link("\(directory.path)/token", "\(directory.path)/other-token")
        var guarded = GuardedFiles()
        guarded.directory = "\(directory.path)/link"
        guarded.paths = ["\(directory.path)/link-to-token", "\(directory.path)/missing"]
        let names = [
            "data/queue.db", "data/new", "link/new", "link/../data/shards/a.db", "other-name.db",
            "token", "other-token", "missing",
        ]
        for name in names {
            var target = FileTarget(path: "\(directory.path)/\(name)")
            target.guarded = guarded
            let existed = access(target.path, F_OK) == 0
            let file = LogFile(target, notices: ArchiveNotices("app", .silent))
            #expect(write(line, to: file) == ["GUARDED"], "\(name)")
            #expect((access(target.path, F_OK) == 0) == existed)
            if existed {
                #expect(readFile(target.path) == Array(line.utf8))
                #expect(target.refusal != nil)
            }
        }
        // Files beside them are free, also those with several names.
        for name in ["data.ndjson", "free", "data-2"] {
            var target = FileTarget(path: "\(directory.path)/\(name)")
            target.guarded = guarded
            directory.file(name, line)
            link(target.path, "\(target.path).copy")
            let file = LogFile(target, notices: ArchiveNotices("app", .silent))
            #expect(write(line, to: file) == [nil], "\(name)")
        }
    }

    @Test("What was opened is checked, and not the path that meanwhile names another file")
    func exchanged() throws {
        let line = Array(log(1).utf8)
        let secret = directory.file("secret", line)
        directory.file("logs.ndjson", line)
        var target = FileTarget(path: path)
        target.guarded.paths = [secret]
        let opened = open(secret, O_RDONLY | O_CLOEXEC)
        defer { close(opened) }
        #expect(throws: OpenLogFile.guarded) { try OpenLogFile.check(opened, target) }
    }

    // MARK: - After a crash

    @Test("Wherever a crash cuts the file, whole lines stay and each line is whole")
    func torn() {
        let lines = [log(1).replacing("\"}", with: "}{\"}"), "{\"b\":{\"c\":\"\\\"}\"}}\n", log(0)]
        let whole = lines.joined()
        for size in 0...whole.utf8.count {
            directory.file("logs.ndjson", Array(whole.utf8.prefix(size)))
            let file = file()
            #expect(write("{\"z\":0}\n", to: file) == [nil])
            var expected = ""
            for line in lines {
                // Only its newline may be missing.
                guard (expected + line).utf8.count - 1 <= size else { break }
                expected += line
            }
            #expect(content == expected + "{\"z\":0}\n", "cut at \(size)")
        }
    }

    @Test("A torn line is cut off at the start, also when no logs come")
    func tornAndIdle() {
        let idle = file()
        #expect(idle.tend() == nil)
        #expect(directory.names.isEmpty)
        directory.file("logs.ndjson", log(1) + "{\"b\":")
        #expect(file().tend() != nil)
        #expect(content == log(1))
    }

    @Test("Bytes that a power cut left empty are removed with all that follows")
    func holes() {
        let start = log(1)
        for tail in ["\0\0\0", "{\"b\":\0\0\0\"}\n{\"c\":2}\n", "\0\n{}\n"] {
            directory.file("logs.ndjson", start + tail)
            let file = file()
            #expect(write("{\"z\":0}\n", to: file) == [nil])
            #expect(content == start + "{\"z\":0}\n")
        }
    }

    @Test("A torn line that is longer than what is read at once is cut")
    func longTornLine() {
        let long = String(repeating: "x", count: 1_000_000)
        for start in ["", log(1)] {
            directory.file("logs.ndjson", start + String(log(2).dropLast(3)) + long)
            let file = file()
            #expect(write("{\"z\":0}\n", to: file) == [nil])
            #expect(content == start + "{\"z\":0}\n")
            directory.file("logs.ndjson", start + String(log(2).dropLast(3)) + long + "\"}")
            #expect(write("{\"z\":0}\n", to: self.file()) == ["LOCKED"])
        }
    }
}

/// Rotation by the gateway itself.
@Suite(.timeLimit(.minutes(10))) struct LogRotationTests {
    private let directory = TemporaryDirectory()
    private let clock = ManualClock(at: WallTime(seconds: 1_736_843_400))
    private let recorder = JournalRecorder()
    private var path: String { "\(directory.path)/logs.ndjson" }

    private func destination(_ rotation: FileTarget.Rotation) -> Destination {
        var target = FileTarget(path: path)
        target.rotation = rotation
        return Samples.fileDestination(target)
    }

    private func file(_ rotation: FileTarget.Rotation, _ calls: FileCalls = FileCalls()) -> LogFile
    {
        let notices = ArchiveNotices("app", recorder.journal)
        return LogFile(destination(rotation).file, calls, notices: notices) { [clock] in clock.now }
    }

    private func write(_ text: String, to file: LogFile) -> [String?] {
        file.write([Array(text.utf8)]) { false }.map { $0?.code }
    }

    /// All work that can wait.
    private func finish(_ file: LogFile) {
        while file.tend() == .zero {}
    }

    @Test("A file that would become too large is an archive first; none is overwritten")
    func bytes() {
        let file = file(FileTarget.Rotation(bytes: 100))
        for number in 1...5 { #expect(write(log(number), to: file) == [nil]) }
        #expect(
            directory.names == [
                "logs.ndjson", "logs.ndjson.20250114T083000Z.1", "logs.ndjson.20250114T083000Z.2",
            ]
        )
        #expect(
            readFile("\(path).20250114T083000Z.1")
                == Array((log(1) + log(2)).utf8)
        )
        #expect(
            readFile("\(path).20250114T083000Z.2")
                == Array((log(3) + log(4)).utf8)
        )
        #expect(readFile(path) == Array(log(5).utf8))
        // Larger than the bound by itself.
        #expect(write(String(repeating: log(1), count: 9), to: file) == [nil])
        #expect(write(log(0), to: file) == [nil])
        #expect(directory.names.count == 5)
    }

    @Test("A file of yesterday is an archive today, also after a restart and without new logs")
    func age() {
        let rotation = FileTarget.Rotation(age: .seconds(86_400))
        var file = file(rotation)
        #expect(write(log(1), to: file) == [nil])
        clock.advance(.seconds(15 * 3600))
        #expect(write(log(2), to: file) == [nil])
        #expect(directory.names.count == 1)
        clock.advance(.seconds(3600))
        finish(file)
        #expect(directory.names == ["logs.ndjson.20250115T003000Z.1"])
        var times = [timespec(), timespec()]
        #expect(write(log(3), to: file) == [nil])
        times = times.map { _ in timespec(tv_sec: Int(clock.now.seconds), tv_nsec: 0) }
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        clock.advance(.seconds(86_400))
        file.use(destination(rotation))
        file = self.file(rotation)
        #expect(write(log(4), to: file) == [nil])
        #expect(write(log(5), to: file) == [nil])
        #expect(directory.names.count == 3)
        #expect(readFile(path) == Array((log(4) + log(5)).utf8))
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        file.use(destination(rotation))
        finish(self.file(rotation))
        #expect(directory.names.count == 3)
        #expect(!directory.names.contains("logs.ndjson"))
    }

    @Test(
        "Archives are compressed, and the newest stay",
        arguments: [FileTarget.Compression.gzip, .zstd, .none]
    )
    func compression(format: FileTarget.Compression) throws {
        let file = file(FileTarget.Rotation(bytes: log(0).utf8.count, keep: 2, compression: format))
        for number in 1...5 {
            #expect(write(log(number), to: file) == [nil])
            clock.advance(.seconds(1))
            if number.isMultiple(of: 2) { finish(file) }
        }
        finish(file)
        let archives = ["logs.ndjson.20250114T083003Z.1", "logs.ndjson.20250114T083004Z.1"]
            .map { $0 + format.suffix }
        #expect(directory.names == ["logs.ndjson"] + archives)
        for (number, archive) in zip([3, 4], archives) {
            let bytes = readFile("\(directory.path)/\(archive)")
            let coding: ContentCoding? =
                switch format {
                case .gzip: .gzip
                case .zstd: .zstd
                case .none: nil
                }
            let content = try coding.map { coding in
                let inflater = Inflater()
                return try bytes.withUnsafeBytes {
                    Array(try inflater.inflate($0, coding, rawBytes: nil, limit: InflateLimit()))
                }
            }
            #expect(content ?? bytes == Array(log(number).utf8))
        }
    }

    @Test("What a crash left of a compression is removed or finished; other files stay")
    func leftovers() {
        let names = [
            "logs.ndjson.20250114T083000Z.1", "logs.ndjson.20250114T083000Z.1.zst.partial",
            "logs.ndjson.20250114T083000Z.2", "logs.ndjson.20250114T083000Z.2.zst",
            "logs.ndjson.old", "logs.ndjson.1", "logs.ndjson.20250114T083000Z.3.bak",
            "other.20250114T083000Z.1",
        ]
        for name in names { directory.file(name, log(0)) }
        let file = file(FileTarget.Rotation(keep: 2, compression: .zstd))
        #expect(write(log(0), to: file) == [nil])
        finish(file)
        #expect(
            directory.names == [
                "logs.ndjson", "logs.ndjson.1", "logs.ndjson.20250114T083000Z.1.zst",
                "logs.ndjson.20250114T083000Z.2.zst", "logs.ndjson.20250114T083000Z.3.bak",
                "logs.ndjson.old", "other.20250114T083000Z.1",
            ]
        )
    }

    @Test(
        "A pipe, or a file that the configuration uses, is no archive by its name",
        .timeLimit(.minutes(10))
    )
    func namesOfOthers() {
        let names = ["20250114T083000Z.1", "20250114T083000Z.2"].map { "logs.ndjson.\($0)" }
        mkfifo("\(directory.path)/\(names[0])", 0o644)
        directory.file(names[1], log(0))
        var target = FileTarget(path: path)
        target.rotation = FileTarget.Rotation(keep: 1, compression: .zstd)
        target.guarded.paths = ["\(directory.path)/\(names[1])"]
        let file = LogFile(target, notices: ArchiveNotices("app", recorder.journal))
        #expect(write(log(0), to: file) == [nil])
        finish(file)
        #expect(directory.names == ["logs.ndjson"] + names)
    }

    @Test("An archive that cannot be compressed stays as it is, and the journal tells it once")
    func fullDiskOfArchives() {
        let failure = "archives of a file cannot be compressed or removed; they stay as they are"
        let disk = LogFileTests.Disk()
        let rotation = FileTarget.Rotation(bytes: log(0).utf8.count, compression: .zstd)
        let file = file(rotation, disk.calls)
        #expect(write(log(1), to: file) == [nil])
        #expect(write(log(2), to: file) == [nil])
        disk.room = 3
        finish(file)
        #expect(directory.names == ["logs.ndjson", "logs.ndjson.20250114T083000Z.1"])
        #expect(recorder.count(of: failure) == 1)
        #expect(
            ["\"warning\"", path, "ENOSPC", "\"next_try_seconds\":60"]
                .allSatisfy(recorder.text.contains)
        )
        // New settings try at once.
        let settings = destination(rotation)
        file.use(settings)
        finish(file)
        #expect(recorder.lines.now.count == 1)
        disk.room = nil
        file.use(settings)
        finish(file)
        #expect(directory.names == ["logs.ndjson", "logs.ndjson.20250114T083000Z.1.zst"])
        #expect(recorder.count(of: "archives of a file are compressed and removed again") == 1)
        #expect(recorder.lines.now.count == 2)
    }
}
