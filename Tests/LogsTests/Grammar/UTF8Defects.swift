/// Defects of UTF-8 (RFC 3629), each at both ends of its range.
enum UTF8Defects {
    static let all: [(name: String, bytes: [UInt8])] = {
        var all: [(name: String, bytes: [UInt8])] = [
            ("five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
            ("six bytes", [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80]),
            ("FE", [0xFE]), ("FF", [0xFF]), ("mark of UTF-16", [0xFF, 0xFE]),
            ("surrogate pair as CESU-8", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),
            ("Latin-1", [0x63, 0x61, 0x66, 0xE9]),
        ]
        for byte: UInt8 in 0x80...0xBF {
            all.append(("continuation alone", [byte]))
            all.append(("two bytes for ASCII", [0xC0, byte]))
            all.append(("two bytes for ASCII", [0xC1, byte]))
        }
        for lead: UInt8 in 0xC2...0xF4 {
            all.append(("nothing after the first", [lead]))
            all.append(("ASCII after the first", [lead, 0x41]))
            all.append(("a first byte as the second", [lead, 0xC3, 0x80]))
        }
        for lead: UInt8 in 0xE0...0xEF {
            let second: UInt8 = lead == 0xE0 ? 0xA0 : 0x80
            all.append(("two of three", [lead, second]))
            all.append(("ASCII as the third", [lead, second, 0x41]))
        }
        for lead: UInt8 in 0xF0...0xF4 {
            let second: UInt8 = lead == 0xF0 ? 0x90 : 0x80
            all.append(("three of four", [lead, second, 0x80]))
            all.append(("ASCII as the fourth", [lead, second, 0x80, 0x41]))
            all.append(("a first byte as the fourth", [lead, second, 0x80, 0xC3]))
        }
        for second: UInt8 in 0x80...0x9F {
            all.append(("three bytes for two", [0xE0, second, 0x80]))
        }
        for second: UInt8 in 0xA0...0xBF { all.append(("half of a pair", [0xED, second, 0x80])) }
        for second: UInt8 in 0x80...0x8F {
            all.append(("four bytes for three", [0xF0, second, 0x80, 0x80]))
        }
        for second: UInt8 in 0x90...0xBF {
            all.append(("beyond U+10FFFF", [0xF4, second, 0x80, 0x80]))
        }
        for lead: UInt8 in 0xF5...0xFD {
            all.append(("a first byte of none", [lead, 0x80, 0x80, 0x80]))
        }
        return all
    }()

    /// Swift's own literals refuse some of these.
    static let sound = [
        0x20, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD7FF, 0xE000, 0xFDD0, 0xFEFF,
        0xFFFD, 0xFFFE,
        0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
    ].compactMap { Unicode.Scalar($0 as UInt32) }
}
