import Glibc

/// Writes objects of JSON as logs, in one pass over their tokens. The format's reader decides which
/// objects those are; options, given with the body, say what their fields mean.
///
/// Invariants of the hot path: before a field is written there is room for all that is left of the
/// text and for the writer's slack, and a field exceeds its text by no more than that slack.
struct JSONLogReader: ~Copyable {
    let limits: LogLimits
    private(set) var options = JSONLogOptions()
    var cursor: JSONCursor
    var writer: LogWriter
    /// Texts of the body that should be logs and cannot be read.
    var unreadable = UnreadableTexts()
    /// How far complete logs reach, in tokens and in written bytes: reading goes on from there when
    /// the next log cannot be read.
    private(set) var complete = (tokens: 0, bytes: 0)

    init(limits: LogLimits) {
        self.limits = limits
        cursor = JSONCursor(depthMax: limits.depth)
        writer = LogWriter(limits: limits)
    }

    /// Begins a body. Its text, or the first of its texts, comes with `start`.
    mutating func startBody(_ body: LogBody) {
        options = body.options
        unreadable = UnreadableTexts()
        writer.start(body.timing, body.rules)
    }

    /// Stands at the first token of a text of the body.
    mutating func start(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        complete = (0, 0)
        try cursor.start(text)
    }

    /// Where in the text the first log begins that is not complete.
    var incomplete: Int {
        complete.tokens > 0 ? cursor.position(of: complete.tokens) : 0
    }

    // MARK: - Logs

    /// Objects and arrays of objects until the end, each object a log.
    mutating func logs() throws(JSONFault) {
        while cursor.hasToken() {
            switch cursor.byte {
            case UInt8(ascii: "{"): try log(depth: 1)
            case UInt8(ascii: "["): try logArray(depth: 1)
            default: throw cursor.fault(.logExpected)
            }
        }
    }

    mutating func logArray(depth: Int) throws(JSONFault) {
        cursor.skip()
        try cursor.expectToken()
        if cursor.byte == UInt8(ascii: "]") { return cursor.skip() }
        while true {
            try cursor.expectToken()
            if options.damaged == .refuse {
                try element(depth: depth + 1)
            } else {
                try elementOrText(depth: depth + 1)
            }
            try cursor.expectToken()
            let separator = cursor.byte
            guard separator == UInt8(ascii: ",") else {
                guard separator == UInt8(ascii: "]") else {
                    throw cursor.fault(.arrayEndExpected)
                }
                return cursor.skip()
            }
            cursor.skip()
        }
    }

    mutating func element(depth: Int) throws(JSONFault) {
        guard cursor.byte == UInt8(ascii: "{") else { throw cursor.fault(.logExpected) }
        try log(depth: depth)
    }

    private mutating func log(depth: Int) throws(JSONFault) {
        try expectRoomForLog()
        let start = cursor.next
        writer.startLog()
        cursor.skip()
        try cursor.expectToken()
        if cursor.byte == UInt8(ascii: "}") {
            cursor.skip()
        } else {
            try fields(depth: depth)
        }
        try endLog(of: start)
        complete = (cursor.next, writer.output.length)
    }

    /// Refuses the body when the next log is one too many.
    @inline(__always)
    func expectRoomForLog() throws(JSONFault) {
        guard !writer.isFull else { throw cursor.fault(.tooManyLogs(limits.logs)) }
    }

    /// Ends the log that starts at this token.
    @inline(__always)
    mutating func endLog(of start: Int) throws(JSONFault) {
        guard writer.endLog() else {
            throw JSONFault(.tooManyFields(limits.fields), at: cursor.position(of: start))
        }
    }

    // MARK: - Fields

    /// At least one field, and the closing brace.
    mutating func fields(depth: Int) throws(JSONFault) {
        while true {
            try field(depth: depth)
            // A field ends before the last token.
            let separator = cursor.byte
            guard separator == UInt8(ascii: ",") else {
                guard separator == UInt8(ascii: "}") else {
                    throw cursor.fault(.objectEndExpected)
                }
                return cursor.skip()
            }
            cursor.skip()
        }
    }

    /// Reads a member as a field, up to the token behind it, which exists then.
    @inline(__always)
    mutating func field(depth: Int) throws(JSONFault) {
        let text = cursor.text
        // Key, colon, value and the token behind it: one check for all four.
        guard cursor.hasToken(ahead: 3) else { throw cursor.brokenMember() }
        let keyStart = cursor.position + 1
        let colon = cursor.position(ahead: 1)
        guard text[keyStart - 1] == UInt8(ascii: "\""), text[colon] == UInt8(ascii: ":") else {
            throw cursor.brokenMember()
        }
        let keyCount = try cursor.stringCount(keyStart, before: colon)
        makeRoom(from: keyStart)

        let token = cursor.position(ahead: 2)
        let after = cursor.position(ahead: 3)
        let value: Int
        let valueCount: Int
        switch text[token] {
        case UInt8(ascii: "\""):
            value = token + 1
            valueCount = try cursor.stringCount(value, before: after)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            return try fieldInParts(keyStart, keyCount, depth: depth)
        default:
            value = token
            valueCount = try cursor.scalarCount(token, before: after)
        }

        // Nearly all fields: no escape, no reserved name, so all lengths are known beforehand.
        let size = 3 + keyCount + Varint.size(valueCount) + valueCount
        guard keyCount > 0, keyCount <= limits.keyBytes, keyCount < 0x80,
            valueCount <= limits.valueBytes, text[keyStart] != UInt8(ascii: "_"),
            keyCount != options.timeField.count
        else { return try fieldInParts(keyStart, keyCount, depth: depth) }
        let content = writer.output.end
        content[0] = LogTag.contents
        let key = Varint.write(size, to: content + 1) + 2
        key[-2] = PairTag.key
        key[-1] = UInt8(truncatingIfNeeded: keyCount)
        var escapes = copyWords(text + keyStart, keyCount, to: key)
        key[keyCount] = PairTag.value
        let out = Varint.write(valueCount, to: key + keyCount + 1)
        escapes |= copyWords(text + value, valueCount, to: out)
        guard escapes == 0 else { return try fieldInParts(keyStart, keyCount, depth: depth) }
        writer.closeField(key, keyCount, end: out + valueCount)
        cursor.skip(3)
    }

    /// Any field.
    private mutating func fieldInParts(
        _ keyStart: Int,
        _ keyCount: Int,
        depth: Int
    ) throws(JSONFault) {
        let written = writer.output.start + writer.nameOffset
        let count = try cursor.unescape(keyStart, keyCount, to: written)
        let field = writer.openField(nameBytes: options.timeField.renaming(written, count))
        cursor.skip(2)
        let position = cursor.position
        let (valueCount, kind) = try cursor.value(
            to: writer.output.start + field.value,
            depth: depth
        )
        if field.reserved == .time, options.takesTimes {
            let text = writer.output.text(at: field.value, valueCount)
            if try takeTime(text, kind, at: position) { return }
        } else if options.takesTimeParts, takeTimePart(of: field, valueCount) {
            return
        }
        writer.close(field, valueBytes: valueCount)
    }

    /// Reads the next value as the field of this name, and returns its size.
    @discardableResult
    mutating func field(_ name: StaticString, depth: Int) throws(JSONFault) -> Int {
        makeRoom(from: cursor.position)
        (writer.output.start + writer.nameOffset)
            .update(from: name.utf8Start, count: name.utf8CodeUnitCount)
        let field = writer.openField(nameBytes: name.utf8CodeUnitCount)
        let (count, _) = try cursor.value(to: writer.output.start + field.value, depth: depth)
        writer.close(field, valueBytes: count)
        return count
    }

    // MARK: - Times

    /// Takes a written text for the log's time. False when it stays an ordinary field.
    mutating func takeTime(
        _ text: UnsafeBufferPointer<UInt8>,
        _ kind: JSONKind,
        at position: Int
    ) throws(JSONFault) -> Bool {
        let reading: TimeReading =
            kind == .string || kind == .number
            ? TimeReading(text, short: options.takesShortTimes) : .unreadable
        switch reading {
        case .time(let time): return writer.take(time)
        case .outOfRange where writer.times.believed != nil: return writer.takeImpossibleTime()
        case .unreadable, .outOfRange:
            if options.keepsUnreadableTimes { return false }
            throw JSONFault(
                reading == .outOfRange ? .timeOutOfRange : .timeUnreadable,
                at: position
            )
        }
    }

    private static let timePart = Array("__time_ns_part__".utf8)

    /// Takes `__time_ns_part__` for the nanoseconds of the log's time. False when this is another
    /// field, or its value cannot be that.
    private mutating func takeTimePart(of field: borrowing OpenField, _ valueCount: Int) -> Bool {
        guard writer.name(of: field).elementsEqual(Self.timePart) else { return false }
        var digits = DigitReader(writer.output.text(at: field.value, valueCount))
        guard 1...9 ~= valueCount, let part = digits.number(valueCount) else { return false }
        writer.take(nanoseconds: UInt32(part))
        return true
    }

    // MARK: - Members that are no fields

    /// The name of the next member, whose value comes next then. Valid until something is written.
    mutating func memberName() throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        let name = try unescaped(try cursor.memberName())
        try cursor.expectToken()
        return name
    }

    /// The next string. Valid until something is written.
    mutating func string() throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        try unescaped(try cursor.string())
    }

    /// A string in the text, or a copy behind the written logs if it has escapes.
    private mutating func unescaped(
        _ range: Range<Int>
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        let start = cursor.text + range.lowerBound
        guard memchr(start, CInt(UInt8(ascii: "\\")), range.count) != nil else {
            return UnsafeBufferPointer(start: start, count: range.count)
        }
        makeRoom(from: range.lowerBound)
        let out = writer.output.end
        let count = try cursor.unescape(range.lowerBound, range.count, to: out)
        return writer.output.text(at: writer.output.length, count)
    }

    /// Copies the next value behind the written logs, valid until something is written. A `gap`
    /// stays free for text before it in the body.
    mutating func value(
        depth: Int,
        behind gap: Int = 0
    ) throws(JSONFault) -> (text: UnsafeBufferPointer<UInt8>, kind: JSONKind) {
        makeRoom(from: cursor.position - gap)
        let offset = writer.output.length + gap
        let (count, kind) = try cursor.value(to: writer.output.start + offset, depth: depth)
        return (writer.output.text(at: offset, count), kind)
    }

    /// Reads a value that means nothing.
    mutating func skipValue() throws(JSONFault) {
        _ = try value(depth: 1)
    }

    /// Reads a member as name and value, valid until something is written; `depth` is the value's.
    mutating func member(depth: Int) throws(JSONFault) -> JSONMember {
        try cursor.expectToken()
        makeRoom(from: cursor.position)
        let name = try memberName()
        let position = cursor.position
        // A name that has escapes stands where the value would.
        let (value, kind) = try value(depth: depth, behind: name.count)
        return JSONMember(name: name, value: value, kind: kind, position: position)
    }

    /// Makes room for what is left of the text.
    @inline(__always)
    private mutating func makeRoom(from position: Int) {
        writer.output.makeRoom(forBytes: cursor.textCount - position)
    }
}

/// A member of an object, as texts.
struct JSONMember {
    let name: UnsafeBufferPointer<UInt8>
    let value: UnsafeBufferPointer<UInt8>
    let kind: JSONKind
    /// Where the value starts in the text.
    let position: Int
}

func ~= (name: StaticString, text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard text.count == name.utf8CodeUnitCount, let start = text.baseAddress else { return false }
    return memcmp(start, name.utf8Start, text.count) == 0
}

/// Texts of one body that should be logs and cannot be read.
///
/// A body with too many of them is refused: it is another format, and each dead letter is a row of
/// the queue.
struct UnreadableTexts {
    private(set) var count = 0
    /// Those in a repaired copy that wait to be set aside as they were sent, in ascending order.
    private(set) var noted: [(range: Range<Int>, fault: JSONFault)] = []

    mutating func add(_ fault: JSONFault, bytes: Int, _ limits: LogLimits) throws(JSONFault) {
        guard !fault.reason.concernsRequest else { throw fault }
        guard bytes <= limits.unreadableBytes else {
            throw JSONFault(.unreadableTooLarge(limits.unreadableBytes), at: fault.position)
        }
        guard count < limits.unreadable else {
            throw JSONFault(.tooManyUnreadable(limits.unreadable), at: fault.position)
        }
        count += 1
    }

    mutating func note(
        _ fault: JSONFault,
        at range: Range<Int>,
        _ limits: LogLimits
    ) throws(JSONFault) {
        guard !fault.reason.concernsRequest else { throw fault }
        guard noted.count < limits.unreadable else {
            throw JSONFault(.tooManyUnreadable(limits.unreadable), at: fault.position)
        }
        noted.append((range, fault))
    }
}

extension JSONLogReader {
    /// True when the body has a log that could be read, or nothing that could not.
    var hasReadable: Bool {
        unreadable.count == 0 || writer.requestLogCount > unreadable.count
    }

    /// Writes a text that is no log; `offset` is where the reader's text starts in the body.
    mutating func setAside(
        _ text: UnsafeBufferPointer<UInt8>,
        _ fault: JSONFault,
        at offset: Int = 0
    ) throws(JSONFault) {
        try unreadable.add(fault, bytes: text.count, limits)
        guard !writer.isFull else { throw JSONFault(.tooManyLogs(limits.logs), at: fault.position) }
        writer.setAside(
            unreadable: text,
            .unreadable(at: fault.position + offset, reason: fault.reason.sentence)
        )
    }

    /// An element of an array of logs, or else its text, which may be anything that has brackets in
    /// pairs.
    mutating func elementOrText(depth: Int) throws(JSONFault) {
        let (first, kept) = (cursor.next, writer.output.length)
        do throws(JSONFault) {
            try element(depth: depth)
        } catch {
            writer.abandonLog(keeping: kept)
            cursor.move(to: first)
            guard (try? cursor.pass()) != nil else { throw error }
            let start = cursor.position(of: first)
            var end = cursor.position
            while end > start, cursor.text[end - 1] <= 0x20 { end -= 1 }
            if options.damaged == .note {
                try unreadable.note(error, at: start..<end, limits)
            } else {
                let text = UnsafeBufferPointer(start: cursor.text + start, count: end - start)
                try setAside(text, error)
            }
        }
    }
}
