extension TextMemory {
    /// A text as a JSON string, quotes included. What is not UTF-8 stays as it is.
    mutating func append(quoted text: UnsafeBufferPointer<UInt8>) {
        append("\"")
        var plain = 0
        for index in text.indices where Self.needsEscape(text[index]) {
            append(UnsafeBufferPointer(rebasing: text[plain..<index]))
            append(escaped: text[index])
            plain = index + 1
        }
        append(UnsafeBufferPointer(rebasing: text[plain...]))
        append("\"")
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func append(escaped byte: UInt8) {
        append("\\")
        switch byte {
        case 0x08: append("b")
        case 0x09: append("t")
        case 0x0A: append("n")
        case 0x0C: append("f")
        case 0x0D: append("r")
        case ..<0x20:
            append("u00")
            append(Self.hexDigit(byte >> 4))
            append(Self.hexDigit(byte & 15))
        default: append(byte)
        }
    }

    mutating func append(hex bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes {
            append(Self.hexDigit(byte >> 4))
            append(Self.hexDigit(byte & 15))
        }
    }

    /// Without zeros in front.
    mutating func append(hex number: UInt32) {
        var shift = max(0, 28 - number.leadingZeroBitCount & ~3)
        while shift >= 0 {
            append(Self.hexDigit(UInt8(truncatingIfNeeded: number >> UInt32(shift)) & 15))
            shift -= 4
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// RFC 4648, section 4.
    mutating func append(base64 bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count {
            let known = min(3, bytes.count - index)
            var word: UInt32 = 0
            for offset in 0..<3 {
                word = word << 8 | (offset < known ? UInt32(bytes[index + offset]) : 0)
            }
            for digit in 0..<4 {
                let value = UInt8(truncatingIfNeeded: word >> UInt32(18 - 6 * digit)) & 63
                append(digit <= known ? Self.base64Digit(value) : UInt8(ascii: "="))
            }
            index += 3
        }
    }

    private static func base64Digit(_ value: UInt8) -> UInt8 {
        switch value {
        case ..<26: UInt8(ascii: "A") + value
        case ..<52: UInt8(ascii: "a") + value - 26
        case ..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
