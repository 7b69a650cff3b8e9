import Glibc

/// Splits a server's bytes into operations. Bounded: a line, and a message of `payloadMax`.
package struct NATSParser {
    package enum Operation: Equatable, Sendable {
        /// The server describes itself, in JSON.
        case info([UInt8])
        /// With the number of the subscription that it came through.
        case message(NATSMessage, subscription: UInt64)
        case ping, pong
        case ok
        case error(String)
    }

    /// A server with many others names all of them in one line.
    static let lineMax = 64 << 10
    /// Servers take up to 8 MiB as a message, and answer with one in base64.
    package static let payloadMax = 16 << 20
    /// Room for one read, at least.
    private static let readBytesMin = 64 << 10
    private static let bufferBytes = 256 << 10
    /// Larger messages get room as they arrive, as a size alone proves nothing.
    private static let roomBytesMax = 1 << 20
    /// A buffer that has grown beyond it is given back.
    private static let keptBytesMax = 4 << 20

    /// Bytes from `start` to `end` are not parsed yet. It grows for one large message.
    private var buffer = [UInt8](repeating: 0, count: bufferBytes)
    private var start = 0
    private var end = 0
    /// No line ends before it.
    private var scanned = 0
    private var pending: Pending?

    /// The line of a message whose payload follows.
    private struct Pending {
        let subject: String
        let subscription: UInt64
        let reply: String?
        let headBytes: Int
        let totalBytes: Int
    }

    package init() {}

    /// Nothing of a further operation has arrived.
    package var isEmpty: Bool { pending == nil && start == end }

    /// What it holds in memory.
    package var byteCount: Int { buffer.count }

    /// Appends what the body writes into the given room; it returns how many bytes.
    package mutating func append<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        makeRoom()
        end += try buffer.withUnsafeMutableBytes { [end] bytes in
            let room = UnsafeMutableRawBufferPointer(rebasing: bytes[end...])
            return Result { () throws(Failure) in try body(room) }
        }.get()
    }

    /// Moves bytes once for each message, and doubles the buffer: constant cost per byte.
    private mutating func makeRoom() {
        let held = end - start
        let missing = pending.map { $0.totalBytes + 2 - held } ?? 0
        let room = max(Self.readBytesMin, missing <= Self.roomBytesMax ? missing : 0)
        if held == 0 {
            (start, end, scanned) = (0, 0, 0)
            let isLarge = buffer.count > Self.keptBytesMax && missing <= Self.keptBytesMax
            if isLarge { buffer = [UInt8](repeating: 0, count: Self.bufferBytes) }
        }
        guard buffer.count - end < room else { return }
        if held + room <= buffer.count {
            buffer.withUnsafeMutableBytes { [start, end] bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                bytes.copyMemory(from: rest)
            }
        } else {
            let growth = max(room, min(missing, held))
            var larger = [UInt8](repeating: 0, count: held + growth)
            larger.withUnsafeMutableBytes { $0.copyBytes(from: buffer[start..<end]) }
            buffer = larger
        }
        (start, end, scanned) = (0, held, scanned - start)
    }

    /// The next whole operation; nil: more bytes are needed.
    package mutating func next() throws(NATSError) -> Operation? {
        if let pending { return try message(pending) }
        guard let line = try line() else { return nil }
        return try operation(line)
    }

    private mutating func line() throws(NATSError) -> ArraySlice<UInt8>? {
        guard let place = lineEnd() else {
            scanned = end
            guard end - start <= Self.lineMax else {
                throw .malformed("the server sent a line of more than \(Self.lineMax) bytes")
            }
            return nil
        }
        guard place - start <= Self.lineMax else {
            throw .malformed("the server sent a line of more than \(Self.lineMax) bytes")
        }
        guard place > start, buffer[place - 1] == UInt8(ascii: "\r") else {
            throw .malformed("the server sent a line that does not end with CR LF")
        }
        let line = buffer[start..<place - 1]
        start = place + 1
        scanned = start
        return line
    }

    private func lineEnd() -> Int? {
        let from = max(start, scanned)
        return buffer.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = memchr(base + from, CInt(UInt8(ascii: "\n")), end - from)
            else { return nil }
            return found - UnsafeMutableRawPointer(mutating: base)
        }
    }

    private mutating func operation(
        _ line: ArraySlice<UInt8>
    ) throws(NATSError) -> Operation? {
        let word = line.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        let rest = line[word.endIndex...]
        switch String(decoding: word, as: UTF8.self) {
        case "INFO": return .info(Array(rest))
        case "PING": return .ping
        case "PONG": return .pong
        case "+OK": return .ok
        case "-ERR":
            return .error(Self.unquoted(rest))
        case "MSG": return try message(rest, hasHead: false)
        case "HMSG": return try message(rest, hasHead: true)
        default:
            throw .malformed("the server sent an operation that the protocol does not have")
        }
    }

    /// `subject sid [reply] [head bytes] total bytes`
    private mutating func message(
        _ fields: ArraySlice<UInt8>,
        hasHead: Bool
    ) throws(NATSError) -> Operation? {
        let words = fields.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let sizes = hasHead ? 2 : 1
        guard words.count == 2 + sizes || words.count == 3 + sizes,
            let total = Self.number(words[words.count - 1]),
            let head = hasHead ? Self.number(words[words.count - 2]) : 0, head <= total,
            total <= Self.payloadMax, let subscription = Self.number(words[1])
        else {
            throw .malformed("the server sent a message whose line cannot be read")
        }
        let pending = Pending(
            subject: String(decoding: words[0], as: UTF8.self),
            subscription: UInt64(subscription),
            reply: words.count == 3 + sizes ? String(decoding: words[2], as: UTF8.self) : nil,
            headBytes: head,
            totalBytes: total
        )
        self.pending = pending
        return try message(pending)
    }

    private mutating func message(_ pending: Pending) throws(NATSError) -> Operation? {
        let bodyEnd = start + pending.totalBytes
        guard bodyEnd + 2 <= end else { return nil }
        guard buffer[bodyEnd] == UInt8(ascii: "\r"), buffer[bodyEnd + 1] == UInt8(ascii: "\n")
        else {
            throw .malformed("the server sent a message that is longer than its size")
        }
        let message = NATSMessage(
            subject: pending.subject,
            reply: pending.reply,
            head: Array(buffer[start..<start + pending.headBytes]),
            body: Array(buffer[start + pending.headBytes..<bodyEnd])
        )
        self.pending = nil
        start = bodyEnd + 2
        scanned = start
        return .message(message, subscription: pending.subscription)
    }

    /// The text of `'text'`, which may hold quotes itself.
    private static func unquoted(_ text: ArraySlice<UInt8>) -> String {
        let isSpace: (UInt8) -> Bool = { $0 <= 0x20 }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        if text.count > 1, text.first == UInt8(ascii: "'"), text.last == UInt8(ascii: "'") {
            text = text.dropFirst().dropLast()
        }
        return String(decoding: text.prefix(500), as: UTF8.self)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.count <= 18, !digits.isEmpty else { return nil }
        var number = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            number = number * 10 + Int(digit - 0x30)
        }
        return number
    }
}
