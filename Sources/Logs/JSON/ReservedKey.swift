/// Names that SLS gives a meaning of its own; they must not be names of fields (facts 1.7).
enum ReservedKey {
    /// The log's time.
    case time
    /// All others.
    case other

    /// What makes a reserved name an ordinary one.
    static let prefix = Array("field".utf8)

    private static let others = [
        "__source__", "__topic__", "__partition_time__", "_extract_others_", "__extract_others__",
    ].map { Array($0.utf8) }
    /// `__time__` as one word, because in web tracking every log has it.
    private static let timeWord: UInt64 = 0x5F5F_656D_6974_5F5F

    @inline(__always)
    init?(_ key: UnsafeBufferPointer<UInt8>) {
        guard key.count >= 8, key.count <= 18 else { return nil }
        let underscore = UInt8(ascii: "_")
        guard key[0] == underscore, key[key.count - 1] == underscore else { return nil }
        self.init(candidate: key)
    }

    private init?(candidate key: UnsafeBufferPointer<UInt8>) {
        let word = UnsafeRawBufferPointer(key).loadUnaligned(as: UInt64.self)
        if key.count == 8 && UInt64(littleEndian: word) == Self.timeWord {
            self = .time
        } else if Self.others.contains(where: { key.elementsEqual($0) }) {
            self = .other
        } else {
            return nil
        }
    }

    /// The name itself, or what it is stored as when it is reserved.
    static func storable(_ key: String) -> String {
        var key = key
        let isReserved = key.withUTF8 { ReservedKey($0) != nil }
        return isReserved ? String(decoding: prefix, as: UTF8.self) + key : key
    }
}
