/// Splits what a server sends into its operations. What it holds is bounded: a line, and a message of `payloadMax`.
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
    private static let readBytes = 256 << 10

    private var buffer: [UInt8] = []
    private var start = 0
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
    package var isEmpty: Bool { pending == nil && start == buffer.count }

    /// Appends what the body writes into the given room; it returns how many bytes.
    package mutating func append<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 4 * Self.readBytes)
            (start, scanned) = (0, 0)
        } else if start >= Self.readBytes {
            buffer.removeFirst(start)
            scanned -= start
            start = 0
        }
        let missing = pending.map { $0.totalBytes + 2 - (buffer.count - start) } ?? 0
        let room = max(Self.readBytes, missing)
        let before = buffer.count
        // Grows once for a large payload.
        buffer.reserveCapacity(before + room)
        var filled = 0
        var failure: Failure?
        let added = [UInt8](unsafeUninitializedCapacity: room) { bytes, count in
            do throws(Failure) {
                filled = try body(UnsafeMutableRawBufferPointer(bytes))
            } catch {
                failure = error
            }
            count = filled
        }
        if let failure { throw failure }
        buffer += added
    }

    /// The next whole operation; nil: more bytes are needed.
    package mutating func next() throws(NATSError) -> Operation? {
        if let pending { return try message(pending) }
        guard let line = try line() else { return nil }
        return try operation(line)
    }

    private mutating func line() throws(NATSError) -> ArraySlice<UInt8>? {
        var place = max(start, scanned)
        while place < buffer.count, buffer[place] != UInt8(ascii: "\n") { place += 1 }
        guard place < buffer.count else {
            scanned = place
            guard place - start <= Self.lineMax else {
                throw NATSError(
                    .malformed,
                    "the server sent a line of more than \(Self.lineMax) bytes"
                )
            }
            return nil
        }
        guard place > start, buffer[place - 1] == UInt8(ascii: "\r"), place - start <= Self.lineMax
        else { throw NATSError(.malformed, "the server sent a line that does not end with CR LF") }
        let line = buffer[start..<place - 1]
        start = place + 1
        scanned = start
        return line
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
            let quoted = String(decoding: rest, as: UTF8.self)
            return .error(
                String(quoted.drop { " '".contains($0) }.prefix { $0 != "'" }.prefix(500))
            )
        case "MSG": return try message(rest, hasHead: false)
        case "HMSG": return try message(rest, hasHead: true)
        default:
            throw NATSError(
                .malformed,
                "the server sent an operation that the protocol does not have"
            )
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
            throw NATSError(.malformed, "the server sent a message whose line cannot be read")
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
        let end = start + pending.totalBytes
        guard end + 2 <= buffer.count else { return nil }
        guard buffer[end] == UInt8(ascii: "\r"), buffer[end + 1] == UInt8(ascii: "\n") else {
            throw NATSError(.malformed, "the server sent a message that is longer than its size")
        }
        let message = NATSMessage(
            subject: pending.subject,
            reply: pending.reply,
            head: Array(buffer[start..<start + pending.headBytes]),
            body: Array(buffer[start + pending.headBytes..<end])
        )
        self.pending = nil
        start = end + 2
        scanned = start
        return .message(message, subscription: pending.subscription)
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
