/// A number as digits and a power of ten, so that no precision is lost between seconds and
/// nanoseconds.
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
