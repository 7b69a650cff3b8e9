/// A base64 alphabet and how strictly it is decoded.
package enum Base64Alphabet: Sendable {
    /// RFC 4648 section 4, with or without padding. Unused bits at the end are ignored.
    case standard
    /// RFC 4648 section 5, without padding. Unused bits at the end must be zero, so that each value has exactly one
    /// text.
    case url

    fileprivate func value(of digit: UInt8) -> UInt8? {
        switch (digit, self) {
        case (UInt8(ascii: "A")...UInt8(ascii: "Z"), _): digit - UInt8(ascii: "A")
        case (UInt8(ascii: "a")...UInt8(ascii: "z"), _): digit - UInt8(ascii: "a") + 26
        case (UInt8(ascii: "0")...UInt8(ascii: "9"), _): digit - UInt8(ascii: "0") + 52
        case (UInt8(ascii: "+"), .standard), (UInt8(ascii: "-"), .url): 62
        case (UInt8(ascii: "/"), .standard), (UInt8(ascii: "_"), .url): 63
        default: nil
        }
    }
}

/// Decodes base64; nil when the text is malformed.
package func base64Decoded(_ text: ArraySlice<UInt8>, _ alphabet: Base64Alphabet) -> [UInt8]? {
    var digits = text
    if alphabet == .standard {
        while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 {
            digits.removeLast()
        }
    }
    guard digits.count % 4 != 1 else { return nil }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(digits.count * 3 / 4)
    var (bits, count): (UInt32, UInt32) = (0, 0)
    for digit in digits {
        guard let value = alphabet.value(of: digit) else { return nil }
        bits = bits << 6 | UInt32(value)
        count += 6
        guard count >= 8 else { continue }
        count -= 8
        decoded.append(UInt8(truncatingIfNeeded: bits >> count))
    }
    return alphabet == .standard || bits & (1 << count - 1) == 0 ? decoded : nil
}
