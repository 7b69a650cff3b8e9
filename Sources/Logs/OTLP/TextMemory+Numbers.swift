extension TextMemory {
    mutating func append(decimal number: UInt64) {
        append(most: 20) { place in
            var size = 1
            var rest = number / 10
            while rest > 0 {
                size += 1
                rest /= 10
            }
            rest = number
            for index in stride(from: size - 1, through: 0, by: -1) {
                place[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            return size
        }
    }

    mutating func append(decimal number: Int64) {
        if number < 0 { append("-") }
        append(decimal: number.magnitude)
    }

    /// As JavaScript, and so JSON, writes numbers (ECMA-262, Number::toString): the fewest digits that
    /// give the number back, with an exponent for the very large and the very small only. What JSON has
    /// no numbers for is `NaN`, `Infinity` and `-Infinity`, as protobuf's JSON calls it.
    mutating func append(_ number: Double) {
        guard !number.isNaN else { return append("NaN") }
        if number.sign == .minus { append("-") }
        guard number.isFinite else { return append("Infinity") }
        // The shortest digits are Swift's to find; it only lays them out differently.
        var text = number.magnitude.description
        text.withUTF8 { append(DecimalDigits($0)) }
    }

    /// Quoted where JSON has no such number.
    mutating func append(json number: Double) {
        guard !number.isFinite else { return append(number) }
        append("\"")
        append(number)
        append("\"")
    }

    private mutating func append(_ digits: DecimalDigits) {
        let (count, point) = (digits.digits.count, digits.point)
        digits.digits.withUnsafeBufferPointer { digits in
            switch point {
            case count...21:
                append(digits)
                appendZeros(point - count)
            case 1...21:
                append(UnsafeBufferPointer(rebasing: digits[..<point]))
                append(".")
                append(UnsafeBufferPointer(rebasing: digits[point...]))
            case -5...0:
                append("0.")
                appendZeros(-point)
                append(digits)
            default:
                append(digits[0])
                if count > 1 {
                    append(".")
                    append(UnsafeBufferPointer(rebasing: digits[1...]))
                }
                append(point > 0 ? "e+" : "e-")
                append(decimal: UInt64((point - 1).magnitude))
            }
        }
    }

    private mutating func appendZeros(_ count: Int) {
        for _ in 0..<count { append("0") }
    }
}

/// The digits of a number without zeros around them, and how many of them stand before the point.
private struct DecimalDigits {
    var digits: [UInt8] = []
    var point = 0

    /// From Swift's own form: `0.001`, `120.0`, `1.5e+20`.
    init(_ text: UnsafeBufferPointer<UInt8>) {
        let exponent = text.firstIndex(of: UInt8(ascii: "e")) ?? text.endIndex
        var hasPoint = false
        for byte in text[..<exponent] {
            if byte == UInt8(ascii: ".") {
                hasPoint = true
            } else if byte != UInt8(ascii: "0") || !digits.isEmpty {
                digits.append(byte)
                if !hasPoint { point += 1 }
            } else if hasPoint {
                point -= 1
            }
        }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        guard !digits.isEmpty else {
            (digits, point) = ([UInt8(ascii: "0")], 1)
            return
        }
        var power = 0
        var isNegative = false
        for byte in text[exponent...].dropFirst() {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): continue
            default: power = power * 10 + Int(byte - UInt8(ascii: "0"))
            }
        }
        point += isNegative ? -power : power
    }
}
