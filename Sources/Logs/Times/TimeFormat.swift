/// How a field writes a time: a number in one unit, ISO 8601, or a text such as `%d/%b/%Y:%H:%M:%S
/// %z`.
package enum TimeFormat: Sendable, Equatable {
    /// With the short forms that Elasticsearch reads too.
    case iso
    /// Since 1970. The power of ten makes nanoseconds of the number.
    case number(name: String, power: Int)
    case pattern(TimePattern)

    /// A longer text is no time.
    private static let bytesMax = 128
    private static let powers: KeyValuePairs = ["s": 9, "ms": 6, "us": 3, "ns": 0]

    /// nil: the text is neither a format's name nor a pattern.
    package init?(_ text: String) {
        if text == "iso" {
            self = .iso
        } else if let unit = Self.powers.first(where: { $0.key == text }) {
            self = .number(name: unit.key, power: unit.value)
        } else {
            guard let pattern = TimePattern(text) else { return nil }
            self = .pattern(pattern)
        }
    }

    package var text: String {
        switch self {
        case .iso: "iso"
        case .number(let name, _): name
        case .pattern(let pattern): pattern.text
        }
    }

    /// nil: the whole value is not such a time, or SLS cannot store it.
    package func time(_ value: UnsafeBufferPointer<UInt8>) -> LogTime? {
        guard value.count <= Self.bytesMax, case .time(let time) = reading(value) else {
            return nil
        }
        return time
    }

    private func reading(_ value: UnsafeBufferPointer<UInt8>) -> TimeReading {
        switch self {
        case .iso: return TimeReading.date(value, true)
        case .number(_, let power):
            guard let decimal = Decimal(value) else { return .unreadable }
            guard !decimal.isNegative, decimal.magnitude <= 20 else { return .outOfRange }
            return TimeReading(decimal.scaled(by: power))
        case .pattern(let pattern): return pattern.reading(value)
        }
    }
}

/// A time's text as `strptime` describes it, read strictly: numbers have their whole width, names
/// are English, and nothing may follow.
package struct TimePattern: Sendable, Equatable {
    /// The names of the conversions, which are all that there are.
    private enum Part: UInt8, Sendable {
        case year = 0x59, month = 0x6D, day = 0x64, paddedDay = 0x65, monthName = 0x62
        case weekday = 0x61, hour = 0x48, hourOfHalf = 0x49, half = 0x70, minute = 0x4D
        case second = 0x53, fraction = 0x66, zone = 0x7A, epoch = 0x73
    }

    private enum Item: Sendable, Equatable {
        case literal(UInt8)
        case part(Part)
    }

    private static let bytesMax = 64
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    package let text: String
    private var items: [Item] = []

    /// nil: a conversion is unknown or there twice, or the text tells no date.
    package init?(_ text: String) {
        guard 2...Self.bytesMax ~= text.utf8.count else { return nil }
        self.text = text
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                items.append(.literal(byte))
                continue
            }
            switch bytes.popFirst() {
            case UInt8(ascii: "%"): items.append(.literal(byte))
            case UInt8(ascii: "T"): bytes = Array("%H:%M:%S".utf8) + bytes
            case UInt8(ascii: "F"): bytes = Array("%Y-%m-%d".utf8) + bytes
            case let name?:
                guard let part = Part(rawValue: name), !has(part) else { return nil }
                items.append(.part(part))
            case nil: return nil
            }
        }
        let isDate =
            has(.year) && (has(.month) || has(.monthName)) && (has(.day) || has(.paddedDay))
        guard isDate || has(.epoch), has(.hourOfHalf) == has(.half) else { return nil }
    }

    private func has(_ part: Part) -> Bool { items.contains(.part(part)) }

    /// What a text tells; a time without a zone is UTC.
    private struct Found {
        var (year, month, day) = (1970, 1, 1)
        var (hour, minute, second, nanoseconds, zone) = (0, 0, 0, 0, 0)
        var isAfternoon: Bool?
        var epoch: Int?
    }

    func reading(_ value: UnsafeBufferPointer<UInt8>) -> TimeReading {
        var (reader, found) = (DigitReader(value), Found())
        for item in items {
            switch item {
            case .literal(let byte):
                guard reader.take(Unicode.Scalar(byte)) else { return .unreadable }
            case .part(let part):
                guard Self.read(part, &reader, &found) else { return .unreadable }
            }
        }
        guard reader.isAtEnd, 1...TimeReading.daysIn(found.month, of: found.year) ~= found.day
        else { return .unreadable }
        if let isAfternoon = found.isAfternoon {
            found.hour = found.hour % 12 + (isAfternoon ? 12 : 0)
        }
        let days = TimeReading.daysSince1970(found.year, found.month, found.day)
        let ofDay = found.hour * 3600 + found.minute * 60 + found.second
        let seconds = found.epoch ?? days * 86_400 + ofDay - found.zone
        return TimeReading(Int128(seconds) * 1_000_000_000 + Int128(found.nanoseconds))
    }

    private static func read(
        _ part: Part,
        _ reader: inout DigitReader,
        _ found: inout Found
    ) -> Bool {
        func number(_ digits: Int, _ range: ClosedRange<Int>) -> Int? {
            reader.number(digits).flatMap { range ~= $0 ? $0 : nil }
        }
        func set(_ place: WritableKeyPath<Found, Int>, _ value: Int?) -> Bool {
            guard let value else { return false }
            found[keyPath: place] = value
            return true
        }
        switch part {
        case .year: return set(\.year, number(4, 0...9999))
        case .month: return set(\.month, number(2, 1...12))
        case .day: return set(\.day, number(2, 1...31))
        case .paddedDay:
            return set(\.day, reader.take(" ") ? number(1, 1...9) : number(2, 1...31))
        case .monthName: return set(\.month, reader.name(of: months).map { $0 + 1 })
        case .weekday: return reader.name(of: weekdays) != nil
        case .hour: return set(\.hour, number(2, 0...23))
        case .hourOfHalf: return set(\.hour, number(2, 1...12))
        case .half:
            found.isAfternoon = reader.name(of: ["am", "pm"]).map { $0 == 1 }
            return found.isAfternoon != nil
        case .minute: return set(\.minute, number(2, 0...59))
        case .second: return set(\.second, number(2, 0...60))
        case .fraction: return set(\.nanoseconds, reader.fraction())
        case .zone: return set(\.zone, reader.isAtEnd ? nil : reader.zone(true))
        case .epoch:
            var seconds = reader.digit()
            // SLS's 32 bits end before eleven digits do.
            for _ in 0..<10 {
                guard let known = seconds, let digit = reader.digit() else { break }
                seconds = known * 10 + digit
            }
            found.epoch = seconds
            return seconds != nil
        }
    }
}
