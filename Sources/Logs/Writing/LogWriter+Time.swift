extension LogWriter {
    /// Gives the log its own time. False when the rules do not let it have that one: then the caller
    /// writes what the device said as `originalTime`.
    ///
    /// Of several times the last one counts.
    @inline(__always)
    mutating func take(_ time: LogTime) -> Bool {
        guard skew != .none else { return takeTrue(time) }
        remarks.setCorrected()
        return skew.corrected(time).map { takeTrue($0) } ?? takeImpossibleTime()
    }

    /// The part below the second, for sources that bring it apart, in any order. It belongs to the log's
    /// own time, and goes with that.
    mutating func take(nanoseconds: UInt32) {
        remarks.setNanoseconds(nanoseconds)
    }

    /// A time that SLS cannot store. Always false: what the device said stays as a field.
    mutating func takeImpossibleTime() -> Bool {
        if rules.late != .rewrite { remarks.setLateness(.timeOutOfRange) }
        return false
    }

    @inline(__always)
    private mutating func takeTrue(_ time: LogTime) -> Bool {
        if let believedTimes, !believedTimes.contains(time.seconds) {
            return takeLate(time, believedTimes)
        }
        remarks.setLateness(nil)
        self.time = time
        hasOwnTime = true
        return true
    }

    private mutating func takeLate(_ time: LogTime, _ believed: ClosedRange<UInt32>) -> Bool {
        guard rules.late != .rewrite, let window = rules.times else { return false }
        let isOld = time.seconds < believed.lowerBound
        remarks.setLateness(isOld ? .tooOld(window.past) : .tooNew(window.future))
        self.time = time
        hasOwnTime = true
        return true
    }
}
