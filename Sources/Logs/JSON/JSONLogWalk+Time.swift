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
            kind == .string || kind == .number ? TimeReading(text) : .unreadable
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
}
