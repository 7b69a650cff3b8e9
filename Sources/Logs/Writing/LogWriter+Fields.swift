import System

/// A field whose name and value are written with room before them and then moved together: for text
/// whose stored size, or name, is not known beforehand.
struct OpenField {
    fileprivate var key: Int
    fileprivate var keyCount: Int
    fileprivate let isNameTooLong: Bool
    fileprivate let isNameEmpty: Bool
    /// The meaning of the name to SLS.
    let reserved: ReservedKey?
    /// Where in the output the value belongs.
    let value: Int
}

extension LogWriter {
    // MARK: - Texts that lie outside the output

    /// Writes a field of the log. Both texts are valid UTF-8.
    @inline(__always)
    mutating func field(
        name: UnsafeBufferPointer<UInt8>,
        value: UnsafeBufferPointer<UInt8>
    ) {
        output.makeRoom(forBytes: name.count + value.count)
        // Nearly all fields: all lengths are known, and the name is stored as it is.
        guard name.count > 0, name.count <= limits.keyBytes, name.count < 0x80,
            value.count <= limits.valueBytes, name[0] != UInt8(ascii: "_")
        else { return fieldInParts(name, value) }
        write(name, value)
    }

    /// A field whose name is short, and none that SLS keeps for itself.
    @inline(__always)
    mutating func field(name: StaticString, value: UnsafeBufferPointer<UInt8>) {
        field(name: name.bytes, value: value)
    }

    mutating func field(name: StaticString, value: [UInt8]) {
        value.withUnsafeBufferPointer { field(name: name, value: $0) }
    }

    @inline(never)
    private mutating func fieldInParts(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        put(name, at: nameOffset)
        let field = openField(nameBytes: name.count)
        put(value, at: field.value)
        close(field, valueBytes: value.count)
    }

    private func put(_ text: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard let start = text.baseAddress else { return }
        (output.start + offset).update(from: start, count: text.count)
    }

    /// Writes one more field about the log. It replaces a field that the device calls so.
    mutating func mark(_ name: StaticString, _ value: [UInt8]) {
        output.makeRoom(forBytes: name.utf8CodeUnitCount + value.count)
        value.withUnsafeBufferPointer { write(name.bytes, $0) }
    }

    /// Writes a field as it is, at its place, for which there is room.
    @inline(__always)
    private mutating func write(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let size =
            2 + Varint.size(name.count) + name.count + Varint.size(value.count) + value.count
        var out = output.end
        out.pointee = LogTag.contents
        out = Varint.write(size, to: out + 1)
        out.pointee = PairTag.key
        let key = Varint.write(name.count, to: out + 1)
        if let text = name.baseAddress { key.update(from: text, count: name.count) }
        out = key + name.count
        out.pointee = PairTag.value
        out = Varint.write(value.count, to: out + 1)
        if let text = value.baseAddress { out.update(from: text, count: value.count) }
        closeField(key, name.count, end: out + value.count)
    }

    /// Counts a field as written, which starts at the output's end and reaches to `end`.
    @inline(__always)
    mutating func closeField(
        _ key: UnsafeMutablePointer<UInt8>,
        _ keyCount: Int,
        end: UnsafeMutablePointer<UInt8>
    ) {
        names.add(key, keyCount, content: output.length, in: output.start)
        output.length = end - output.start
    }

    // MARK: - Texts that may not be UTF-8

    // SLS refuses a whole packet for one byte that is not UTF-8 (`InvalidEncoding`), and refusing a
    // request for it would cost the client all logs of it. So such bytes become U+FFFD, one for
    // each maximal subpart as Unicode recommends (3.9), and the log's field `__invalid_utf8__`
    // names the fields. They were no text, so nothing readable is lost.

    @inline(__always)
    mutating func uncheckedField(
        name: UnsafeBufferPointer<UInt8>,
        value: UnsafeBufferPointer<UInt8>
    ) {
        guard name.isUTF8, value.isUTF8 else { return repairedField(name, value) }
        field(name: name, value: value)
    }

    mutating func uncheckedField(name: StaticString, value: UnsafeBufferPointer<UInt8>) {
        uncheckedField(name: name.bytes, value: value)
    }

    @inline(never)
    private mutating func repairedField(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let start = output.length
        output.makeRoom(forBytes: UTF8Sequence.growth * (name.count + value.count))
        let nameBytes = UTF8Sequence.repair(name, to: output.start + nameOffset)
        let field = openField(nameBytes: nameBytes)
        let valueBytes = UTF8Sequence.repair(value, to: output.start + field.value)
        close(field, valueBytes: valueBytes)
        remarks.addInvalid(at: name.isEmpty ? log.unnamed.lowerBound : start)
    }

    /// Notes that the next field had bytes that were no text, and were repaired by the caller.
    mutating func noteRepairedField() {
        remarks.addInvalid(at: output.length)
    }

    // MARK: - Texts that are written in place

    /// Room before a key for the field's tag and lengths, and for a reserved name's longer form.
    private static let keyRoom = 24
    /// Room before a value for its tag and length.
    private static let valueRoom = 8

    /// Where in the output the name belongs of a field that is then opened. The caller has made
    /// room for name and value together.
    var nameOffset: Int { output.length + Self.keyRoom }

    /// The name is written, the value comes next.
    mutating func openField(nameBytes: Int) -> OpenField {
        if nameBytes == 0 { dropUnnamedNeighbour() }
        let key = nameOffset
        var count = nameBytes
        let isNameTooLong = count > limits.keyBytes
        if count == 0 || isNameTooLong { count = storableName(key, count) }
        return OpenField(
            key: key,
            keyCount: count,
            isNameTooLong: isNameTooLong,
            isNameEmpty: nameBytes == 0,
            reserved: ReservedKey(output.text(at: key, count)),
            value: key + count + Self.valueRoom
        )
    }

    func name(of field: borrowing OpenField) -> UnsafeBufferPointer<UInt8> {
        output.text(at: field.key, field.keyCount)
    }

    /// The value is written, too. A field that is not closed leaves nothing.
    mutating func close(_ field: consuming OpenField, valueBytes: Int) {
        var valueCount = valueBytes
        if let reserved = field.reserved {
            let stored = reserved.stored(name(of: field))
            field.key += field.keyCount - stored.count
            field.keyCount = stored.count
            let key = field.key
            stored.withUnsafeBufferPointer { put($0, at: key) }
        }
        if valueCount > limits.valueBytes {
            remarks.addOversized(.value, at: output.length)
            valueCount = storableValue(field.value, valueCount)
        } else if field.isNameTooLong {
            remarks.addOversized(.name, at: output.length)
        }
        let start = output.length
        write(name(of: field), output.text(at: field.value, valueCount))
        if field.isNameEmpty { log.unnamed = start..<output.length }
    }

    /// A field without a name takes seven times its size in the body, and the next one replaces it:
    /// at once when they are neighbours, so that a body of nothing else does not grow.
    private mutating func dropUnnamedNeighbour() {
        guard output.length == log.unnamed.upperBound, !log.unnamed.isEmpty else { return }
        remarks.forget(fieldAt: log.unnamed.lowerBound)
        output.length = log.unnamed.lowerBound
    }

    /// Replaces an empty name, or one that is too long, in its place, and returns the new size.
    @inline(never)
    private func storableName(_ offset: Int, _ count: Int) -> Int {
        let name = output.start + offset
        guard count == 0 else {
            return rules.oversize == .cut
                ? FieldName.cut(name, count, to: limits.keyBytes) : count
        }
        let empty = FieldName.empty
        name.update(from: empty.utf8Start, count: empty.utf8CodeUnitCount)
        return empty.utf8CodeUnitCount
    }

    /// The stored size of a value that is too long.
    @inline(never)
    private func storableValue(_ offset: Int, _ count: Int) -> Int {
        rules.oversize == .cut
            ? utf8Boundary(output.start + offset, atMost: limits.valueBytes) : count
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}

/// The times of one body's logs: when it came, and which times of its device are believed.
struct BodyTimes {
    /// The time of logs that bring none.
    let arrival: LogTime
    let skew: ClockSkew
    /// The skew as each corrected log tells it.
    let skewText: [UInt8]
    /// Times outside are late; nil when every device is believed.
    let believed: ClosedRange<UInt32>?

    init() {
        self.init(BatchTiming(arrival: WallTime(seconds: 0)), nil)
    }

    init(_ timing: BatchTiming, _ window: TimeWindow?) {
        arrival = LogTime(arrival: timing.arrival)
        skew = timing.skew
        skewText = skew == .none ? [] : Array("\(skew.seconds)".utf8)
        let offset = timing.offset
        // Adding a duration takes divisions of 128 bits.
        let now = offset == .zero ? timing.arrival : timing.arrival + offset
        believed = window?.seconds(around: now)
    }
}

// A time that the rules do not let a log have is kept as the field `__original_time__`, as the
// device said it. The last of several times counts.
extension LogWriter {
    /// Gives the log its own time. False when the rules do not let it have that one: then the
    /// caller writes the device's text as `__original_time__`.
    @inline(__always)
    mutating func take(_ time: LogTime) -> Bool {
        guard times.skew != .none else { return takeTrue(time) }
        remarks.isCorrected = true
        return times.skew.corrected(time).map { takeTrue($0) } ?? takeImpossibleTime()
    }

    /// Takes the part below the second from sources that bring it apart, in any order. It belongs
    /// to the log's own time, and goes with that.
    mutating func take(nanoseconds: UInt32) {
        remarks.nanoseconds = nanoseconds
    }

    /// Takes a time that SLS cannot store. Always false: the device's text stays as a field.
    mutating func takeImpossibleTime() -> Bool {
        if rules.late != .rewrite { remarks.setLateness(.timeOutOfRange) }
        return false
    }

    @inline(__always)
    private mutating func takeTrue(_ time: LogTime) -> Bool {
        if let believed = times.believed, !believed.contains(time.seconds) {
            return takeLate(time, believed)
        }
        remarks.setLateness(nil)
        log.time = time
        log.hasOwnTime = true
        return true
    }

    private mutating func takeLate(_ time: LogTime, _ believed: ClosedRange<UInt32>) -> Bool {
        guard rules.late != .rewrite, let window = rules.times else { return false }
        let isOld = time.seconds < believed.lowerBound
        remarks.setLateness(isOld ? .tooOld(window.past) : .tooNew(window.future))
        log.time = time
        log.hasOwnTime = true
        return true
    }

    // MARK: - Times that a format brings apart from the fields

    mutating func time(seconds: UInt64, nanoseconds: UInt32 = 0) {
        if let whole = UInt32(exactly: seconds) {
            if take(LogTime(seconds: whole, nanoseconds: nanoseconds)) { return }
        } else {
            _ = takeImpossibleTime()
        }
        var text = "\(seconds)"
        if nanoseconds > 0 {
            let digits = "\(nanoseconds)"
            text += "." + String(repeating: "0", count: 9 - digits.utf8.count) + digits
        }
        field(name: ReservedKey.originalTimeField, value: Array(text.utf8))
    }

    mutating func time(nanosecondsSince1970: UInt64) {
        let (seconds, rest) = nanosecondsSince1970.quotientAndRemainder(
            dividingBy: 1_000_000_000
        )
        time(seconds: seconds, nanoseconds: UInt32(rest))
    }

    /// A time before 1970 or after 2106, which SLS cannot store.
    mutating func impossibleTime(written text: String) {
        _ = takeImpossibleTime()
        field(name: ReservedKey.originalTimeField, value: Array(text.utf8))
    }

    /// A text as in `__time__` of JSON: a number or RFC 3339. An unreadable one is kept, too.
    mutating func time(text: UnsafeBufferPointer<UInt8>) {
        switch TimeReading(text) {
        case .time(let time): if take(time) { return }
        case .outOfRange: _ = takeImpossibleTime()
        case .unreadable: break
        }
        uncheckedField(name: ReservedKey.originalTimeField, value: text)
    }
}
