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

/// Parses a text of digits from its start.
struct DigitReader {
    private let text: UnsafeBufferPointer<UInt8>
    private var place = 0

    init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

    var isAtEnd: Bool { place == text.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        // A literal of a time format may be a byte beyond ASCII.
        guard place < text.count, Unicode.Scalar(text[place]) == character else { return false }
        place += 1
        return true
    }

    mutating func digit() -> Int? {
        guard place < text.count, text[place] &- 0x30 < 10 else { return nil }
        place += 1
        return Int(text[place - 1] - 0x30)
    }

    /// The number of the name that comes next, in letters of either case.
    mutating func name(of names: [String]) -> Int? {
        for (number, name) in names.enumerated() where name.utf8.count <= text.count - place {
            let here = UnsafeBufferPointer(rebasing: text[place..<place + name.utf8.count])
            guard zip(here, name.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else { continue }
            place += name.utf8.count
            return number
        }
        return nil
    }

    /// Exactly so many digits.
    mutating func number(_ count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// One digit or more behind a point, in nanoseconds.
    mutating func fraction() -> Int? {
        guard var fraction = digit() else { return nil }
        var scale = 1
        while let digit = digit() {
            guard scale < 9 else { continue }
            fraction = fraction * 10 + digit
            scale += 1
        }
        for _ in scale..<9 { fraction *= 10 }
        return fraction
    }

    /// `08:30:00.5`; if short, also `08:30` and `08`.
    mutating func timeOfDay(_ short: Bool) -> (seconds: Int, nanoseconds: Int)? {
        guard let hour = number(2), hour < 24 else { return nil }
        guard take(":") else { return short ? (hour * 3600, 0) : nil }
        guard let minute = number(2), minute < 60 else { return nil }
        let start = hour * 3600 + minute * 60
        guard take(":") else { return short ? (start, 0) : nil }
        // A leap second, 60, counts as the second after it.
        guard let second = number(2), second <= 60 else { return nil }
        guard take(".") else { return (start + second, 0) }
        return fraction().map { (start + second, $0) }
    }

    /// `Z` or `+08:00`, in seconds east of UTC; if short, also `+0800`, `+08` and nothing.
    mutating func zone(_ short: Bool) -> Int? {
        if short, isAtEnd { return 0 }
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let hours = number(2), hours < 24 else { return nil }
        let isHours = short && isAtEnd
        guard isHours || take(":") || short, let minutes = isHours ? 0 : number(2), minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
    }
}

/// A number as digits and a power of ten, so that seconds and nanoseconds lose no precision.
struct Decimal {
    private(set) var isNegative = false
    /// The first significant digits, 30 at most.
    private(set) var digits: Int128 = 0
    /// The power of ten that `digits` is multiplied by.
    private var exponent = 0
    /// How many digits the number has before the point; zero or less for fractions.
    private(set) var magnitude = 0

    /// The whole text must be a number as JSON writes it; leading zeros are let through.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        var reader = DigitReader(text)
        isNegative = reader.take("-")
        var kept = 0
        var seen = 0
        while let digit = reader.digit() {
            seen += 1
            add(digit, &kept)
            if digits > 0 { magnitude += 1 }
        }
        guard seen > 0 else { return nil }
        if reader.take(".") {
            let integerDigits = seen
            while let digit = reader.digit() {
                seen += 1
                if digits == 0 && digit == 0 { magnitude -= 1 }
                add(digit, &kept)
            }
            guard seen > integerDigits else { return nil }
        }
        if reader.take("e") || reader.take("E") {
            let isSmall = reader.take("-")
            if !isSmall { _ = reader.take("+") }
            guard let first = reader.digit() else { return nil }
            var power = first
            // Beyond a thousand every number is zero or far too large.
            while let digit = reader.digit() { power = min(power * 10 + digit, 10_000) }
            magnitude += isSmall ? -power : power
        }
        guard reader.isAtEnd else { return nil }
        exponent = magnitude - kept
    }

    private mutating func add(_ digit: Int, _ kept: inout Int) {
        guard digits > 0 || digit > 0, kept < 30 else { return }
        digits = digits * 10 + Int128(digit)
        kept += 1
    }

    /// Nil when it has a fraction, or more than 20 digits before the point.
    var wholeNumber: Int128? {
        guard digits > 0 else { return 0 }
        guard (1...20).contains(magnitude) else { return nil }
        var (rest, behind) = (digits, exponent)
        while behind < 0 {
            guard rest % 10 == 0 else { return nil }
            rest /= 10
            behind += 1
        }
        return isNegative ? -scaled(by: 0) : scaled(by: 0)
    }

    /// The number times a power of ten, cut to a whole one. The magnitude must be at most 20.
    func scaled(by power: Int) -> Int128 {
        var result = digits
        var rest = exponent + power
        guard rest > -40 else { return 0 }
        while rest > 0 && result > 0 {
            result *= 10
            rest -= 1
        }
        while rest < 0 {
            result /= 10
            rest += 1
        }
        return result
    }
}
