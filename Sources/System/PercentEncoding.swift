/// RFC 3986 section 2.3: encodes every byte of the UTF-8 text as `%XX`, except unreserved characters.
package func percentEncoded(_ text: String) -> String {
    String(decoding: percentEncoded(Array(text.utf8)), as: UTF8.self)
}

package func percentEncoded(_ bytes: [UInt8]) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for byte in bytes {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."), UInt8(ascii: "~"):
            encoded.append(byte)
        default:
            encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
    return encoded
}

/// Decodes percent encoding (RFC 3986 section 2.1); the result need not be UTF-8. nil for a percent sign without two
/// hexadecimal digits. In a form, a plus is a space.
package func percentDecoded(_ text: ArraySlice<UInt8>, isForm: Bool = false) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count)
    var rest = text
    while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "%"):
            guard let high = rest.popFirst().flatMap(hexValue),
                let low = rest.popFirst().flatMap(hexValue)
            else { return nil }
            decoded.append(high << 4 | low)
        case UInt8(ascii: "+") where isForm: decoded.append(UInt8(ascii: " "))
        default: decoded.append(byte)
        }
    }
    return decoded
}

/// Decodes a part of a path; nil when it is malformed or not UTF-8.
package func percentDecodedText(_ bytes: ArraySlice<UInt8>) -> String? {
    percentDecoded(bytes).flatMap { String(validating: $0, as: UTF8.self) }
}
