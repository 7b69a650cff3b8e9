/// Character classes of RFC 9110 and 9112. Each test is a shift and a mask.
extension UInt8 {
    /// RFC 9110 section 5.6.2: tchar.
    var isToken: Bool {
        isIn(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
    }

    /// RFC 9110 section 5.5: field values may also contain tabs and spaces.
    var isFieldContent: Bool {
        self >= 0x20 ? self != 0x7f : self == 0x09
    }

    /// A request target is visible ASCII; clients never send the fragment (RFC 9110 section 7.1).
    var isTarget: Bool {
        self > 0x20 && self < 0x7f && self != UInt8(ascii: "#")
    }

    /// A registered name or an IPv4 address. RFC 3986 also allows sub-delims, but no real host name
    /// contains them, and later readers of the name give some of them a meaning.
    var isHostName: Bool {
        isIn(low: 0x03ff_6020_0000_0000, high: 0x47ff_fffe_87ff_fffe)
    }

    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    var hexValue: Int? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(self - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(self - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    var lowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }

    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")

    private func isIn(low: UInt64, high: UInt64) -> Bool {
        self < 64 ? low >> UInt64(self) & 1 == 1 : self < 128 && high >> UInt64(self - 64) & 1 == 1
    }
}
