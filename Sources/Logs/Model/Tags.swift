/// The tag bytes (field number and wire type) of LogGroup.
enum GroupTag {
    static let logs: UInt8 = 0x0A
    static let topic: UInt8 = 0x1A
    static let source: UInt8 = 0x22
    static let logTags: UInt8 = 0x32
}

/// The tag bytes of Log.
enum LogTag {
    static let time: UInt8 = 0x08
    static let contents: UInt8 = 0x12
    static let nanoseconds: UInt8 = 0x25
}

/// The tag bytes of Content and LogTag, which look alike.
enum PairTag {
    static let key: UInt8 = 0x0A
    static let value: UInt8 = 0x12
}
