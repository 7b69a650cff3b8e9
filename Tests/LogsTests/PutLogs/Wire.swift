@testable import Logs

/// Protobuf as tests write it, also malformed.
enum Wire {
    static func varint(_ value: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(varint: value)
        return bytes
    }

    static func number(_ field: UInt64, _ value: UInt64) -> [UInt8] {
        varint(field << 3) + varint(value)
    }

    static func bytes(_ field: UInt64, _ content: [UInt8]) -> [UInt8] {
        varint(field << 3 | 2) + varint(UInt64(content.count)) + content
    }

    static func fixed32(_ field: UInt64, _ value: UInt32) -> [UInt8] {
        varint(field << 3 | 5) + withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    /// A field of any of the eight wire types, complete where that is possible.
    static func any(_ field: UInt64, type: UInt64) -> [UInt8] {
        let content: [UInt8] =
            switch type {
            case 0: [1]
            case 1: [0, 0, 0, 0, 0, 0, 0, 0]
            case 2: [2, 0x12, 0]
            case 5: [0, 0, 0, 0]
            default: []
            }
        return varint(field << 3 | type) + content
    }

    static func pair(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
        bytes(1, key) + bytes(2, value)
    }

    static func pair(_ key: String, _ value: String) -> [UInt8] {
        pair(Array(key.utf8), Array(value.utf8))
    }

    /// A log as standard encoders write it.
    static func log(
        _ fields: [(String, String)],
        seconds: UInt32 = arrivalSeconds,
        nanoseconds: UInt32? = nil
    ) -> [UInt8] {
        number(1, UInt64(seconds)) + fields.flatMap { bytes(2, pair($0.0, $0.1)) }
            + (nanoseconds.map { fixed32(4, $0) } ?? [])
    }
}

extension PutLogsDecoder {
    func read(
        _ body: [UInt8],
        _ rules: LogRules = LogRules(),
        skew: Int64 = 0
    ) throws(LogDecodingError) -> TrackedLogs {
        let timing = BatchTiming(arrival: arrival, skew: ClockSkew(seconds: skew))
        return try padded(body) { body throws(LogDecodingError) in
            try decode(body, timing, rules)
        }
    }

    /// A group of these logs.
    func logs(
        _ logs: [[UInt8]],
        _ rules: LogRules = LogRules(),
        skew: Int64 = 0
    ) throws -> DecodedLogs {
        try read(logs.flatMap { Wire.bytes(1, $0) }, rules, skew: skew).logs
    }
}
