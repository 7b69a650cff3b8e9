/// A time as a log brings it: a number since 1970, or RFC 3339 text.
enum TimeReading: Equatable {
    case time(LogTime)
    case unreadable
    /// Readable, but before 1970 or after 2106, where SLS's 32 bits end.
    case outOfRange

    /// `short` allows the other forms that Elasticsearch reads (strict_date_optional_time): no
    /// zone, which is UTC, zones such as `+0800` and `+08`, and no seconds, minutes or time of day.
    init(_ text: UnsafeBufferPointer<UInt8>, short: Bool = false) {
        self = Self.wholeNumber(text) ?? Self.number(text) ?? Self.date(text, short)
    }

    /// Nearly all clients send this: digits and nothing else, as many as fit 64 bits.
    private static func wholeNumber(_ text: UnsafeBufferPointer<UInt8>) -> TimeReading? {
        guard 10...18 ~= text.count, text[0] != UInt8(ascii: "0") else { return nil }
        var number: UInt64 = 0
        for byte in text {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number &* 10 &+ UInt64(digit)
        }
        let second: UInt64 =
            switch text.count {
            case ...11: 1
            case ...14: 1000
            case ...17: 1_000_000
            default: 1_000_000_000
            }
        let (seconds, rest) = number.quotientAndRemainder(dividingBy: second)
        guard let seconds = UInt32(exactly: seconds) else { return .outOfRange }
        let nanoseconds = UInt32(rest * (1_000_000_000 / second))
        return .time(LogTime(seconds: seconds, nanoseconds: nanoseconds))
    }

    /// Nanoseconds since 1970.
    init(_ nanoseconds: Int128) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard nanoseconds >= 0, seconds <= UInt32.max else {
            self = .outOfRange
            return
        }
        self = .time(LogTime(seconds: UInt32(seconds), nanoseconds: UInt32(rest)))
    }

    /// The unit follows from the magnitude: below 10^11 seconds, below 10^14 milliseconds, below
    /// 10^17 microseconds, else nanoseconds. In each unit that is 1973 to 5138, so no present time
    /// is ambiguous.
    private static func number(_ text: UnsafeBufferPointer<UInt8>) -> TimeReading? {
        guard let decimal = Decimal(text) else { return nil }
        guard !decimal.isNegative || decimal.digits == 0 else { return .outOfRange }
        guard decimal.digits == 0 || decimal.magnitude <= 20 else { return .outOfRange }
        let unit =
            switch decimal.magnitude {
            case ...11: 9
            case ...14: 6
            case ...17: 3
            default: 0
            }
        return TimeReading(decimal.scaled(by: unit))
    }

    /// RFC 3339, section 5.6: also lower-case letters, and a space for the T.
    static func date(_ text: UnsafeBufferPointer<UInt8>, _ short: Bool) -> TimeReading {
        var digits = DigitReader(text)
        guard let year = digits.number(4), digits.take("-"),
            let month = digits.number(2), digits.take("-"),
            let day = digits.number(2), 1...12 ~= month, 1...daysIn(month, of: year) ~= day
        else { return .unreadable }
        let midnight = daysSince1970(year, month, day) * 86_400
        if short, digits.isAtEnd { return TimeReading(Int128(midnight) * 1_000_000_000) }
        guard digits.take("T") || digits.take("t") || digits.take(" "),
            let time = digits.timeOfDay(short), let offset = digits.zone(short), digits.isAtEnd
        else { return .unreadable }
        let seconds = midnight + time.seconds - offset
        return TimeReading(Int128(seconds) * 1_000_000_000 + Int128(time.nanoseconds))
    }

    static func daysIn(_ month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// The Gregorian calendar, counted from a March so that leap days come last.
    static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}
