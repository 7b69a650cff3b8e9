package import Configuration
import Glibc
import System

/// An open file of whole lines. It holds the lock: only this process appends to it.
final class OpenLogFile {
    private let descriptor: OwnedDescriptor
    private let calls: FileCalls
    let identity: LogFileIdentity
    /// All whole lines so far, and those of them that are safe.
    private(set) var bytes: Int
    private(set) var safeBytes: Int
    /// When something was written last, as far as the file system tells.
    private(set) var lastWrite: WallTime

    /// Opens or makes the file, and repairs what a crash has left behind the last whole line. A
    /// file that is not ours stays as it is.
    init(_ target: FileTarget, _ calls: FileCalls) throws(SystemError) {
        guard target.guarded.reasonNotToWrite(to: target.path) == nil else { throw Self.guarded }
        let (number, isNew) = try Self.openOrMake(target)
        descriptor = OwnedDescriptor(taking: number)
        _ = try system("flock") { flock(number, LOCK_EX | LOCK_NB) }
        let facts: stat
        do throws(SystemError) {
            facts = try Self.check(number, target)
        } catch {
            if isNew { Self.removeMade(number, target) }
            throw error
        }
        self.calls = calls
        identity = LogFileIdentity(facts)
        lastWrite = WallTime(
            nanoseconds: Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
        )
        bytes = Int(facts.st_size)
        safeBytes = bytes
        if bytes == 0 {
            try calls.syncDirectory(target.directory)
        } else {
            try repair()
        }
    }

    /// Opens the file, or makes it where none is.
    private static func openOrMake(
        _ target: FileTarget
    ) throws(SystemError) -> (number: CInt, isNew: Bool) {
        // Opening a pipe without a reader must not block the thread.
        let flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        while true {
            do throws(SystemError) {
                return (try system("open") { open(target.path, flags) }, false)
            } catch {
                guard error.code == ENOENT else { throw error }
            }
            do throws(SystemError) {
                let making = flags | O_CREAT | O_EXCL
                return (try system("open") { open(target.path, making, target.mode) }, true)
            } catch {
                // Another process has just made it.
                guard error.code == EEXIST else { throw error }
            }
        }
    }

    /// Removes the file that was just made, unless its path names another one by now.
    private static func removeMade(_ number: CInt, _ target: FileTarget) {
        guard let made = try? facts(of: number), made.st_size == 0,
            let named = try? LogFileIdentity(at: target.path), named == LogFileIdentity(made)
        else { return }
        unlink(target.path)
    }

    // Not errors of the kernel: markers that `WriteProblem(ofFile:_:)` turns into NOT_A_FILE,
    // NOT_LOGS and GUARDED.
    static let special = SystemError(call: "guard", code: ENXIO)
    static let foreign = SystemError(call: "guard", code: EBADMSG)
    static let guarded = SystemError(call: "guard", code: EBUSY)
    static let refusals = [special, foreign, guarded]

    /// How a line of ours begins, in either shape (`LogJSON`). Programs that are not Sluice begin
    /// theirs with a time, too, so the member behind it counts. Each zero stands for a digit.
    private static let beginnings = ["date", "time"].flatMap { name in
        ["", ".000", ".000000", ".000000000"].map {
            Array("{\"\(name)\":\"0000-00-00T00:00:00\($0)Z\",\"tag\":\"".utf8)
        }
    }
    private static let headBytes = 48
    /// The first member's name, which a crash leaves whole.
    private static let nameBytes = 9

    /// True for the beginning of a line of ours, also if cut off or followed by zeros.
    private static func isOurs(_ head: some Collection<UInt8>) -> Bool {
        let written = head.prefix { $0 != 0 }
        guard written.count >= min(head.count, nameBytes) else { return false }
        return beginnings.contains { form in
            zip(form, written).allSatisfy { wanted, byte in
                wanted == UInt8(ascii: "0")
                    ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : wanted == byte
            }
        }
    }

    /// Throws for a file that is not ours: one that is not a regular file, is guarded, or begins
    /// otherwise than with a log. After a crash all bytes of ours may be zero, or those before a
    /// line.
    @discardableResult
    static func check(_ file: CInt, _ target: FileTarget) throws(SystemError) -> stat {
        let facts = try facts(of: file)
        guard facts.st_mode & S_IFMT == S_IFREG else { throw special }
        guard target.guarded.reasonNotToWrite(to: file, facts) == nil else { throw guarded }
        let size = Int(facts.st_size)
        let head = try read(0..<min(size, headBytes), of: file)
        guard !isOurs(head) else { return facts }
        guard head[0] == 0, size <= unsafeBytesMax else { throw foreign }
        for start in stride(from: 0, to: size, by: chunkBytes) {
            let chunk = try read(start..<min(start + chunkBytes, size), of: file)
            guard let index = chunk.firstIndex(where: { $0 != 0 }) else { continue }
            let first = start + index
            let rest = try read(first..<min(first + chunkBytes, size), of: file)
            // The zeros may end within a line.
            let next = rest.drop { $0 != UInt8(ascii: "\n") }.dropFirst()
            let isLine = [rest[...], next].contains {
                $0.count >= nameBytes && isOurs($0)
            }
            guard isLine else { throw foreign }
            break
        }
        return facts
    }

    private static func facts(of file: CInt) throws(SystemError) -> stat {
        var facts = stat()
        _ = try system("fstat") { fstat(file, &facts) }
        return facts
    }

    /// Appends whole lines. After an error the file is cut back; failing that, the next open
    /// repairs it.
    func append(_ text: [UInt8], at time: WallTime) throws(SystemError) {
        do throws(SystemError) {
            try calls.write(all: text, to: descriptor.number)
        } catch {
            try? cut(to: bytes)
            throw error
        }
        bytes += text.count
        lastWrite = time
    }

    /// Makes all lines safe. After an error only those that were safe before are left, because the
    /// kernel may have dropped the others and reports that once.
    func sync() throws(SystemError) {
        guard safeBytes < bytes else { return }
        do throws(SystemError) {
            _ = try system("fdatasync") { calls.sync(descriptor.number) }
        } catch {
            try? cut(to: safeBytes)
            bytes = safeBytes
            throw error
        }
        safeBytes = bytes
    }

    /// True when nothing but this process has changed it.
    func isUntouched() throws(SystemError) -> Bool {
        Int(try Self.facts(of: descriptor.number).st_size) == bytes
    }

    private func cut(to size: Int) throws(SystemError) {
        _ = try system("ftruncate") { calls.truncate(descriptor.number, size) }
    }
}

// MARK: - After a crash

extension OpenLogFile {
    /// No more than this is ever written between two syncs.
    static let unsafeBytesMax = 64 << 20
    private static let chunkBytes = 256 << 10

    /// What a crash can leave: a file system may have kept the size of a write but not its bytes,
    /// which are zero then, and the last line may lack its end. Both belong to packets that were
    /// not acknowledged and come again.
    private func repair() throws(SystemError) {
        let size = bytes
        var end = size
        if let zero = try firstZero(from: max(0, size - Self.unsafeBytesMax)) {
            end = try lineStart(before: zero)
        } else if try byte(at: size - 1) != UInt8(ascii: "\n") {
            let start = try lineStart(before: size)
            if try isWholeObject(start..<size) {
                try calls.write(all: [UInt8(ascii: "\n")], to: descriptor.number)
                bytes += 1
                return try sync()
            }
            end = start
        }
        guard end < size else { return }
        try cut(to: end)
        _ = try system("fdatasync") { calls.sync(descriptor.number) }
        (bytes, safeBytes) = (end, end)
    }

    private func read(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
        try Self.read(range, of: descriptor.number)
    }

    private static func read(_ range: Range<Int>, of number: CInt) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let content = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
            do throws(SystemError) {
                while filled < range.count {
                    let start = buffer.baseAddress?.advanced(by: filled)
                    let (count, offset) = (range.count - filled, range.lowerBound + filled)
                    let got = try system("pread") { pread(number, start, count, offset) }
                    // Somebody else cut the file just now.
                    guard got > 0 else { throw SystemError(call: "pread", code: EIO) }
                    filled += got
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return content
    }

    private func byte(at offset: Int) throws(SystemError) -> UInt8 {
        try read(offset..<offset + 1)[0]
    }

    private func firstZero(from start: Int) throws(SystemError) -> Int? {
        var start = start
        while start < bytes {
            let chunk = try read(start..<min(start + Self.chunkBytes, bytes))
            if let index = chunk.firstIndex(of: 0) { return start + index }
            start += chunk.count
        }
        return nil
    }

    /// Where the line starts that has the byte before `end`.
    private func lineStart(before end: Int) throws(SystemError) -> Int {
        var end = end
        while end > 0 {
            let start = max(0, end - Self.chunkBytes)
            let chunk = try read(start..<end)
            if let index = chunk.lastIndex(of: UInt8(ascii: "\n")) { return start + index + 1 }
            end = start
        }
        return 0
    }

    /// True for an object that is closed by its last byte. It was written by `LogJSON`, or cut off.
    private func isWholeObject(_ range: Range<Int>) throws(SystemError) -> Bool {
        var (depth, isText, isEscaped) = (0, false, false)
        var start = range.lowerBound
        while start < range.upperBound {
            let chunk = try read(start..<min(start + Self.chunkBytes, range.upperBound))
            for byte in chunk {
                if depth == 0, start > range.lowerBound || byte != UInt8(ascii: "{") {
                    return false
                }
                start += 1
                switch byte {
                case _ where isEscaped: isEscaped = false
                case UInt8(ascii: "\\") where isText: isEscaped = true
                case UInt8(ascii: "\""): isText.toggle()
                case UInt8(ascii: "{") where !isText: depth += 1
                case UInt8(ascii: "}") where !isText: depth -= 1
                default: break
                }
            }
        }
        return depth == 0
    }
}

extension Destination {
    /// Why one of kind file would pause at once: the file is that of another program.
    package var fileRefusal: String? {
        guard kind == .file, let refusal = file.refusal else { return nil }
        return "destinations.\(name).path: \(refusal)"
    }
}

extension FileTarget {
    /// Why nothing is ever written to the file that is there; nil if it may be, or cannot be read.
    var refusal: String? {
        do throws(SystemError) {
            let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
            let file = OwnedDescriptor(taking: try system("open") { open(path, flags) })
            try OpenLogFile.check(file.number, self)
            return nil
        } catch {
            guard OpenLogFile.refusals.contains(error) else { return nil }
            let problem = WriteProblem(ofFile: error, self)
            return "\(problem.message); \(problem.remedy)"
        }
    }

    /// Why nothing can be written to the file now; nil when the file, or its directory, is
    /// writable.
    var obstacle: String? {
        do throws(SystemError) {
            let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
            _ = OwnedDescriptor(taking: try system("open") { open(path, flags) })
            return nil
        } catch {
            guard error.code == ENOENT else { return "\(path) cannot be written: \(error)" }
        }
        do throws(SystemError) {
            _ = try system("access") { access(directory, W_OK | X_OK) }
            return nil
        } catch {
            return "\(path) cannot be made in \(directory): \(error)"
        }
    }
}
