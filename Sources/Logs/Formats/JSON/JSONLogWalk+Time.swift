extension JSONLogWalk {
    /// Takes the text written at `offset` for the log's time. False when it stays an ordinary field.
    mutating func takeTime(
        _ offset: Int,
        _ count: Int,
        _ kind: JSONKind,
        at position: Int
    ) throws(JSONFault) -> Bool {
        let text = UnsafeBufferPointer(start: writer.memory.start + offset, count: count)
        let reading: TimeReading =
            kind == .string || kind == .number
            ? TimeReading(text, short: takesShortTimes) : .unreadable
        switch reading {
        case .time(let time): return writer.take(time)
        case .outOfRange where writer.believedTimes != nil: return writer.takeImpossibleTime()
        case .unreadable, .outOfRange:
            if lenientTimes { return false }
            throw JSONFault(
                reading == .outOfRange ? .timeOutOfRange : .timeUnreadable,
                at: position
            )
        }
    }

    private static let timePart = Array("__time_ns_part__".utf8)

    /// Takes the value of `__time_ns_part__` for the nanoseconds of the log's time. False when it is
    /// another field, or has no such value.
    mutating func takeTimePart(of field: borrowing OpenField, _ valueCount: Int) -> Bool {
        guard writer.name(of: field).elementsEqual(Self.timePart) else { return false }
        let start = writer.memory.start + field.value
        var digits = DigitReader(UnsafeBufferPointer(start: start, count: valueCount))
        guard 1...9 ~= valueCount, let part = digits.number(valueCount) else { return false }
        writer.take(nanoseconds: UInt32(part))
        return true
    }
}
