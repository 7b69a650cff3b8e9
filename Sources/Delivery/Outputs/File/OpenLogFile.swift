import Glibc
import System

/// An open file that only this process appends to: it holds the file's lock. Its content is whole lines.
final class OpenLogFile {
    private let descriptor: OwnedDescriptor
    private let calls: FileCalls
    let identity: LogFileIdentity
    /// All whole lines so far, and those of them that are safe.
    private(set) var bytes: Int
    private(set) var safeBytes: Int
    /// When something was written last, as far as the file system tells.
    private(set) var lastWrite: WallTime

    /// Makes the file unless it is there. What a crash has left behind the last whole line is repaired. A file that is
    /// not ours stays as it is.
    init(_ target: FileTarget, _ calls: FileCalls) throws(SystemError) {
        guard target.guarded.reasonNotToWrite(to: target.path) == nil else { throw Self.guarded }
        // Opening a pipe without a reader must not block the thread.
        let flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        descriptor = OwnedDescriptor(
            taking: try system("open") { open(target.path, flags, target.mode) }
        )
        let number = descriptor.number
        _ = try system("flock") { flock(number, LOCK_EX | LOCK_NB) }
        let facts = try Self.check(number, target)
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

    // Not errors of the kernel: markers that `WriteProblem(ofFile:_:)` turns into NOT_LOGS and GUARDED.
    static let foreign = SystemError(call: "guard", code: EBADMSG)
    static let guarded = SystemError(call: "guard", code: EBUSY)
    static let refusals = [foreign, guarded]

    /// How a line of each shape begins (`LogJSON`).
    private static let beginnings = ["{\"date\":\"", "{\"time\":\""].map { Array($0.utf8) }

    /// Throws for a file that is not ours: one that is not a regular file, is guarded, or begins otherwise than with a
    /// log. All bytes of ours may be zero after a crash.
    @discardableResult
    static func check(_ file: CInt, _ target: FileTarget) throws(SystemError) -> stat {
        let facts = try facts(of: file)
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(call: "open", code: EISDIR)
        }
        guard target.guarded.reasonNotToWrite(to: file, facts) == nil else { throw guarded }
        let size = Int(facts.st_size)
        let head = try read(0..<min(size, beginnings[0].count), of: file)
        guard !beginnings.contains(where: { $0.starts(with: head) }) else { return facts }
        guard head[0] == 0, size <= unsafeBytesMax else { throw foreign }
        for start in stride(from: 0, to: size, by: chunkBytes) {
            let chunk = try read(start..<min(start + chunkBytes, size), of: file)
            guard chunk.allSatisfy({ $0 == 0 }) else { throw foreign }
        }
        return facts
    }

    private static func facts(of file: CInt) throws(SystemError) -> stat {
        var facts = stat()
        _ = try system("fstat") { fstat(file, &facts) }
        return facts
    }

    /// Appends whole lines. After an error the file is cut back to what it was; if that fails too,
    /// the next open repairs it.
    func append(_ text: [UInt8], at time: WallTime) throws(SystemError) {
        let result = text.withUnsafeBytes { text in
            Result { () throws(SystemError) in try calls.write(all: text, to: descriptor.number) }
        }
        do throws(SystemError) {
            try result.get()
        } catch {
            try? cut(to: bytes)
            throw error
        }
        bytes += text.count
        lastWrite = time
    }

    /// Makes all lines safe. After an error only those that were safe before are left, because the kernel may have
    /// dropped the others and reports that once.
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

    /// What a crash can leave: a file system may have kept the size of a write but not its bytes, which are zero then,
    /// and the last line may lack its end. Both belong to packets that were not acknowledged and come again.
    private func repair() throws(SystemError) {
        let size = bytes
        var end = size
        if let zero = try firstZero(from: max(0, size - Self.unsafeBytesMax)) {
            end = try lineStart(before: zero)
        } else if try byte(at: size - 1) != UInt8(ascii: "\n") {
            let start = try lineStart(before: size)
            if try isWholeObject(start..<size) {
                try calls.write(all: "\n", to: descriptor.number)
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

extension FileTarget {
    /// Why nothing is ever written to the file that is there; nil if it may be, or cannot be read.
    package var refusal: String? {
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
}

extension FileCalls {
    fileprivate func write(all text: StaticString, to file: CInt) throws(SystemError) {
        let bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        try write(all: bytes, to: file)
    }
}
