/// Names that SLS takes.
package enum FieldName {
    package static let bytesMax = 128

    /// What stands in for an empty name.
    static let empty: StaticString = "__empty__"
    /// An underscore and the sum of the whole name.
    private static let endingSize = 9

    /// Cuts a name that is longer than `bytesMax`, in place, and returns its new size. It ends in a
    /// sum of the whole name then, so that two long names which begin alike stay two.
    static func cut(_ name: UnsafeMutablePointer<UInt8>, _ count: Int, to bytesMax: Int) -> Int {
        // FNV-1a.
        var sum: UInt32 = 2_166_136_261
        for place in 0..<count { sum = (sum ^ UInt32(name[place])) &* 16_777_619 }
        let kept = utf8Boundary(name, atMost: max(bytesMax - endingSize, 0))
        name[kept] = UInt8(ascii: "_")
        for digit in 0..<8 {
            let value = UInt8(truncatingIfNeeded: sum >> UInt32(28 - 4 * digit)) & 15
            let base = value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10
            name[kept + 1 + digit] = base + value
        }
        return kept + endingSize
    }

    /// The name that a tag has among fields, as SLS itself shows tags.
    package static func ofTag(_ tag: String) -> String {
        var name = Array("__tag__:\(tag)".utf8)
        guard name.count > bytesMax else { return String(decoding: name, as: UTF8.self) }
        let count = name.withUnsafeMutableBufferPointer { name in
            name.baseAddress.map { cut($0, name.count, to: bytesMax) } ?? 0
        }
        return String(decoding: name[..<count], as: UTF8.self)
    }
}

/// Where text can be cut so that no character is halved. There must be a byte at `limit`.
func utf8Boundary(_ text: UnsafePointer<UInt8>, atMost limit: Int) -> Int {
    var end = limit
    while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
    return end
}
