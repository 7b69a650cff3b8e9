import System

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
        believed = window?.seconds(around: timing.arrival + timing.offset)
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
        remarks.setCorrected()
        return times.skew.corrected(time).map { takeTrue($0) } ?? takeImpossibleTime()
    }

    /// Takes the part below the second from sources that bring it apart, in any order. It belongs
    /// to the log's own time, and goes with that.
    mutating func take(nanoseconds: UInt32) {
        remarks.setNanoseconds(nanoseconds)
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

    /// A text as in `__time__` of JSON: a number in any unit, or RFC 3339. An unreadable one is
    /// kept, too.
    mutating func time(text: UnsafeBufferPointer<UInt8>) {
        switch TimeReading(text) {
        case .time(let time): if take(time) { return }
        case .outOfRange: _ = takeImpossibleTime()
        case .unreadable: break
        }
        uncheckedField(name: ReservedKey.originalTimeField, value: text)
    }
}
