// The time of a log for decoders whose sources bring it apart from the fields. A time that the rules do
// not let the log have is kept as the field `__original_time__`, as the device said it.
extension LogWriter {
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

    /// A time before 1970 or after 2106, which SLS cannot store.
    mutating func impossibleTime(written text: String) {
        _ = takeImpossibleTime()
        field(name: ReservedKey.originalTimeField, value: Array(text.utf8))
    }

    mutating func time(nanosecondsSince1970: UInt64) {
        let (seconds, rest) = nanosecondsSince1970.quotientAndRemainder(
            dividingBy: 1_000_000_000
        )
        time(seconds: seconds, nanoseconds: UInt32(rest))
    }

    /// As `__time__` of JSON: a number in any unit, or RFC 3339. One that cannot be read is kept too.
    mutating func time(text: UnsafeBufferPointer<UInt8>) {
        switch TimeReading(text) {
        case .time(let time): if take(time) { return }
        case .outOfRange: _ = takeImpossibleTime()
        case .unreadable: break
        }
        uncheckedField(name: ReservedKey.originalTimeField, value: text)
    }
}
