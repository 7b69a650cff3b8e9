import System
import TestSupport

@testable import Logs

/// Bytes from hexadecimal digits; white space is for the eye.
func bytes(hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue ?? 0) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// The facts' reference group, 132 bytes.
let referenceGroup = bytes(
    hex: """
        0a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367120d
        68c3a96c6c6f20e4b896e7958c0a160889c198bc0612090a05656d7074791200
        2515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f69
        645f5f1212354432443145304135434442344533362d30320b0a03656e761204
        70726f64
        """
)

/// A log as tests compare it.
struct Read: Equatable, CustomStringConvertible {
    var seconds: UInt32
    var nanoseconds: UInt32
    var fields: [[String]]

    init(_ fields: [[String]], seconds: UInt32 = arrivalSeconds, nanoseconds: UInt32 = 0) {
        (self.seconds, self.nanoseconds, self.fields) = (seconds, nanoseconds, fields)
    }

    var description: String { "\(seconds).\(nanoseconds) \(fields)" }
}

let arrivalSeconds: UInt32 = 1_736_843_400
let arrival = WallTime(nanoseconds: Int64(arrivalSeconds) * 1_000_000_000 + 5)

extension EncodedLogs {
    /// Reads the entries back and checks their count.
    func read(unchecked: Bool = false) throws -> [Read] {
        let logs = try bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            var logs: [Read] = []
            while let range = try entries.next() {
                let entry = try LogEntry(UnsafeRawBufferPointer(rebasing: bytes[range]))
                logs.append(
                    Read(
                        entry.fields.map { [$0.key, $0.value] },
                        seconds: entry.time.seconds,
                        nanoseconds: entry.time.nanoseconds
                    )
                )
            }
            return logs
        }
        precondition(unchecked || logs.count == count, "the count must be that of the entries")
        return logs
    }
}

/// Bytes behind a body are never read as part of it: here they look like a continuation.
func padded<Result, Failure: Error>(
    _ body: [UInt8],
    _ use: (UnsafeRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
    var bytes = body
    for index in 0..<64 { bytes.append(UInt8(ascii: ["}", "]", "\"", "1"][index % 4])) }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    copy.copyBytes(from: bytes)
    defer { copy.deallocate() }
    return try use(UnsafeRawBufferPointer(start: copy.baseAddress, count: body.count))
}

extension JSONLogDecoder {
    func plain(_ body: String) throws -> [Read] {
        try plain(Array(body.utf8)).read()
    }

    func plain(_ body: [UInt8]) throws(LogDecodingError) -> EncodedLogs {
        try ruled(body, LogRules()).sound
    }

    func ruled(
        _ body: String,
        _ rules: LogRules = LogRules(times: .sls),
        skew: Int64 = 0
    ) throws(LogDecodingError) -> DecodedLogs {
        try ruled(Array(body.utf8), rules, skew: skew)
    }

    func ruled(
        _ body: [UInt8],
        _ rules: LogRules,
        skew: Int64 = 0
    ) throws(LogDecodingError) -> DecodedLogs {
        let timing = BatchTiming(arrival: arrival, skew: ClockSkew(seconds: skew))
        return try padded(body) { body throws(LogDecodingError) in
            try decodePlain(body, timing, rules)
        }
    }

    func tracking(
        _ body: String,
        _ rules: LogRules = LogRules(),
        timeParts: Bool = false
    ) throws(LogDecodingError) -> TrackedLogs {
        try tracking(Array(body.utf8), rules, timeParts: timeParts)
    }

    func tracking(
        _ body: [UInt8],
        _ rules: LogRules = LogRules(),
        timeParts: Bool = false
    ) throws(LogDecodingError) -> TrackedLogs {
        try padded(body) { body throws(LogDecodingError) in
            let timing = BatchTiming(arrival: arrival)
            return try decodeTracking(body, timing, rules, timeParts: timeParts)
        }
    }
}

extension TimeReading {
    init(_ text: String) {
        self = Array(text.utf8).withUnsafeBufferPointer { TimeReading($0) }
    }
}
