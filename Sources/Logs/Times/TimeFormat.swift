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
