extension TextMemory {
    mutating func append(decimal number: UInt64) {
        append(most: 20) { out in
            var size = 1
            var rest = number / 10
            while rest > 0 {
                size += 1
                rest /= 10
            }
            rest = number
            for index in stride(from: size - 1, through: 0, by: -1) {
                out[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            return size
        }
    }

    mutating func append(decimal number: Int64) {
        if number < 0 { append("-") }
        append(decimal: number.magnitude)
    }

    /// As JavaScript, and so JSON, writes numbers (ECMA-262, Number::toString): the fewest digits
    /// that give the number back, with an exponent for the very large and the very small only. What
    /// JSON has no numbers for is `NaN`, `Infinity` and `-Infinity`, as protobuf's JSON calls it.
    mutating func append(_ number: Double) {
        guard !number.isNaN else { return append("NaN") }
        if number.sign == .minus { append("-") }
        guard number.isFinite else { return append("Infinity") }
        // The shortest digits are Swift's to find; it only lays them out differently.
        var text = number.magnitude.description
        text.withUTF8 { text in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count + 1) { room in
                let digits = DecimalDigits(text, in: room)
                append(
                    UnsafeBufferPointer(rebasing: room[..<digits.end]),
                    point: digits.point
                )
            }
        }
    }

    /// Quoted where JSON has no such number.
    mutating func append(json number: Double) {
        guard !number.isFinite else { return append(number) }
        append("\"")
        append(number)
        append("\"")
    }

    private mutating func append(_ digits: UnsafeBufferPointer<UInt8>, point: Int) {
        let count = digits.count
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

    private mutating func appendZeros(_ count: Int) {
        for _ in 0..<count { append("0") }
    }
}

/// The digits of a number without zeros around them, and how many of them stand before the point.
private struct DecimalDigits {
    /// How many there are, from the beginning of the room.
    private(set) var end = 0
    private(set) var point = 0

    /// From Swift's own form: `0.001`, `120.0`, `1.5e+20`. The room is larger than the text.
    init(_ text: UnsafeBufferPointer<UInt8>, in room: UnsafeMutableBufferPointer<UInt8>) {
        var position = 0
        var hasPoint = false
        while position < text.count, text[position] != UInt8(ascii: "e") {
            let byte = text[position]
            position += 1
            if byte == UInt8(ascii: ".") {
                hasPoint = true
            } else if byte != UInt8(ascii: "0") || end > 0 {
                room[end] = byte
                end += 1
                if !hasPoint { point += 1 }
            } else if hasPoint {
                point -= 1
            }
        }
        while end > 0, room[end - 1] == UInt8(ascii: "0") { end -= 1 }
        guard end > 0 else {
            room[0] = UInt8(ascii: "0")
            (end, point) = (1, 1)
            return
        }
        var power = 0
        var isNegative = false
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "e"), UInt8(ascii: "+"): break
            default: power = power * 10 + Int(text[position] - UInt8(ascii: "0"))
            }
            position += 1
        }
        point += isNegative ? -power : power
    }
}
