/// Names that SLS takes.
package enum FieldName {
    package static let bytesMax = 128

    /// What stands in for an empty name.
    package static let empty: StaticString = "__empty__"
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
            name[kept + 1 + digit] = .hexDigit(value)
        }
        return kept + endingSize
    }

    /// The name that a tag has among fields, as SLS itself shows tags.
    package static func ofTag(_ tag: String) -> String {
        cut("__tag__:\(tag)", to: bytesMax)
    }

    /// What a name becomes that SLS does not take.
    package static func storable(_ name: String, bytesMax: Int) -> String {
        name.isEmpty ? "\(empty)" : ReservedKey.storable(cut(name, to: bytesMax))
    }

    private static func cut(_ name: String, to bytesMax: Int) -> String {
        guard name.utf8.count > bytesMax else { return name }
        var bytes = Array(name.utf8)
        let count = bytes.withUnsafeMutableBufferPointer { bytes in
            bytes.baseAddress.map { cut($0, bytes.count, to: bytesMax) } ?? 0
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

/// Where text can be cut so that no character is halved. There must be a byte at `limit`.
package func utf8Boundary(_ text: UnsafePointer<UInt8>, atMost limit: Int) -> Int {
    var end = limit
    while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
    return end
}

/// Names with a meaning of their own to SLS, which fields and tags must not have (facts 1.7).
package enum ReservedKey {
    case time
    case other

    /// The field for a time that is not taken for the log's own.
    static let originalTimeField: StaticString = "__original_time__"
    static let originalTimeName = "\(originalTimeField)"
    private static let originalTime = Array(originalTimeName.utf8)
    /// The prefix that makes any other reserved name an ordinary one.
    private static let prefix = Array("field".utf8)

    /// `__time__` as one word, because in web tracking every log has it.
    private static let timeWord: UInt64 = 0x5F5F_656D_6974_5F5F

    @inline(__always)
    package init?(_ key: UnsafeBufferPointer<UInt8>) {
        guard key.count >= 8, key.count <= 18 else { return nil }
        let underscore = UInt8(ascii: "_")
        guard key[0] == underscore, key[key.count - 1] == underscore else { return nil }
        self.init(candidate: key)
    }

    private init?(candidate key: UnsafeBufferPointer<UInt8>) {
        let word = UnsafeRawBufferPointer(key).loadUnaligned(as: UInt64.self)
        if key.count == 8 && UInt64(littleEndian: word) == Self.timeWord {
            self = .time
            return
        }
        switch key {
        case "__source__", "__topic__", "__partition_time__", "_extract_others_",
            "__extract_others__":
            self = .other
        default: return nil
        }
    }

    /// The ordinary name that stands in for a reserved one.
    package func stored(_ name: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        switch self {
        case .time: Self.originalTime
        case .other: Self.prefix + name
        }
    }

    /// The name itself, or its stored form when it is reserved.
    static func storable(_ key: String) -> String {
        var key = key
        let stored = key.withUTF8 { name in ReservedKey(name)?.stored(name) }
        return stored.map { String(decoding: $0, as: UTF8.self) } ?? key
    }
}
