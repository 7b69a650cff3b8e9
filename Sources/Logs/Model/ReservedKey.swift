/// Names that SLS gives a meaning of its own; they must not be names of fields or
/// tags (facts 1.7).
package enum ReservedKey {
    /// The log's time.
    case time
    /// All others.
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
