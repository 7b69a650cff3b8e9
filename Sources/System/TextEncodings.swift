import CSystem

private let upperDigits = Array("0123456789ABCDEF".utf8)
let lowerDigits = Array("0123456789abcdef".utf8)

/// Encodes each byte as two hexadecimal digits.
package func hex(_ bytes: some Sequence<UInt8>, upper: Bool = false) -> String {
    let digits = upper ? upperDigits : lowerDigits
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}

/// The value of a hexadecimal digit of either case; nil for any other character.
@inlinable package func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Decodes pairs of hexadecimal digits; nil when the text is anything else.
package func hexDecoded(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    var rest = digits
    while let first = rest.popFirst(), let second = rest.popFirst() {
        guard let high = hexValue(first), let low = hexValue(second) else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}

/// A base64 alphabet and how strictly it is decoded.
package enum Base64Alphabet: Sendable {
    /// RFC 4648 section 4, with or without padding. Unused bits at the end are ignored.
    case standard
    /// RFC 4648 section 5, without padding. Unused bits at the end must be zero, so that each value
    /// has exactly one text.
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

extension UInt8 {
    /// A letter, a digit, '-' or '_'.
    package var isWordCharacter: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// RFC 3986 section 2.3: encodes all bytes of the UTF-8 text but unreserved characters as `%XX`.
package func percentEncoded(_ text: String) -> String {
    String(decoding: percentEncoded(Array(text.utf8)), as: UTF8.self)
}

package func percentEncoded(_ bytes: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for byte in bytes {
        if byte.isWordCharacter || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "~") {
            encoded.append(byte)
        } else {
            encoded.append(UInt8(ascii: "%"))
            encoded += [upperDigits[Int(byte >> 4)], upperDigits[Int(byte & 15)]]
        }
    }
    return encoded
}

/// Decodes percent encoding (RFC 3986 section 2.1); the result need not be UTF-8. nil for a percent
/// sign without two hexadecimal digits, unless it is kept as it is. In a form, a plus is a space.
package func percentDecoded(
    _ text: ArraySlice<UInt8>,
    isForm: Bool = false,
    keepsMalformed: Bool = false
) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count)
    var rest = text
    while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "%"):
            guard let high = rest.first.flatMap(hexValue),
                let low = rest.dropFirst().first.flatMap(hexValue)
            else {
                guard keepsMalformed else { return nil }
                decoded.append(byte)
                continue
            }
            decoded.append(high << 4 | low)
            rest = rest.dropFirst(2)
        case UInt8(ascii: "+") where isForm: decoded.append(UInt8(ascii: " "))
        default: decoded.append(byte)
        }
    }
    return decoded
}

/// Decodes a part of a path; nil when it is malformed or not UTF-8.
package func percentDecodedText(_ bytes: ArraySlice<UInt8>) -> String? {
    // Mostly there is nothing to decode, and no need for a copy.
    guard bytes.contains(UInt8(ascii: "%")) else {
        // Validating the text of a short tag takes ten times as long as making it.
        guard bytes.contains(where: { $0 >= 0x80 }) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        return String(validating: bytes, as: UTF8.self)
    }
    return percentDecoded(bytes).flatMap { String(validating: $0, as: UTF8.self) }
}

extension String {
    /// The longest prefix of whole characters that fits.
    package func prefix(bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        var end = utf8.index(startIndex, offsetBy: bytes)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }

    /// Replaces single ASCII characters. `replacing` and a `switch` over Characters would miss one
    /// that a combining mark follows: the two together are another Character.
    package func escaping(_ marks: KeyValuePairs<Unicode.Scalar, String>) -> String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if let mark = marks.first(where: { $0.key == scalar }) {
                text.append(contentsOf: mark.value.unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

extension UnsafeRawBufferPointer {
    /// True if the text, which may be empty, is in these bytes. The C library searches.
    package func contains(_ text: [UInt8]) -> Bool {
        baseAddress.map { sluice_find($0, count, text, text.count) } ?? text.isEmpty
    }
}
