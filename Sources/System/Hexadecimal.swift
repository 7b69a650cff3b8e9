private let upperDigits = Array("0123456789ABCDEF".utf8)
private let lowerDigits = Array("0123456789abcdef".utf8)

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
package func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}
