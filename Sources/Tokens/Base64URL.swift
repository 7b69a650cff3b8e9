/// What a part of a token stands for (RFC 4648 section 5, without padding); nil when it is no such text. Bits that are
/// left over at the end must be none, so that no two texts stand for the same.
func base64URLDecoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count * 3 / 4)
    var (bits, count): (UInt32, UInt32) = (0, 0)
    for digit in text {
        guard let value = value(of: digit) else { return nil }
        bits = bits << 6 | UInt32(value)
        count += 6
        guard count >= 8 else { continue }
        count -= 8
        decoded.append(UInt8(truncatingIfNeeded: bits >> count))
    }
    return bits & (1 << count - 1) == 0 ? decoded : nil
}

private func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
}
