extension JSONLogWalk {
    /// Takes the text written at `offset` for the log's time. False when it stays an ordinary field.
    mutating func takeTime(
        _ offset: Int,
        _ count: Int,
        _ kind: JSONKind,
        at position: Int
    ) throws(JSONFault) -> Bool {
        let text = UnsafeBufferPointer(start: memory.start + offset, count: count)
        let reading: TimeReading =
            kind == .string || kind == .number ? TimeReading(text) : .unreadable
        switch reading {
        case .time(let time):
            guard skew != .none else { return take(time) }
            remarks.setCorrected()
            return skew.corrected(time).map { take($0) } ?? takeImpossibleTime()
        case .outOfRange where believedTimes != nil: return takeImpossibleTime()
        case .unreadable, .outOfRange:
            if lenientTimes { return false }
            throw JSONFault(
                reading == .outOfRange ? .timeOutOfRange : .timeUnreadable,
                at: position
            )
        }
    }

    @inline(__always)
    private mutating func take(_ time: LogTime) -> Bool {
        if let believedTimes, !believedTimes.contains(time.seconds) {
            return takeLate(time, believedTimes)
        }
        remarks.setLateness(nil)
        self.time = time
        return true
    }

    private mutating func takeLate(_ time: LogTime, _ believed: ClosedRange<UInt32>) -> Bool {
        guard rules.late != .rewrite, let window = rules.times else { return false }
        let isOld = time.seconds < believed.lowerBound
        remarks.setLateness(isOld ? .tooOld(window.past) : .tooNew(window.future))
        self.time = time
        return true
    }

    /// A time that SLS cannot store: what the device said stays as a field.
    private mutating func takeImpossibleTime() -> Bool {
        if rules.late != .rewrite { remarks.setLateness(.timeOutOfRange) }
        return false
    }
}
