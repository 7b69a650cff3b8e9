import System
import TestSupport
import Testing

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

/// Why a body is refused; nil when it is read.
func refusal<Value>(_ read: @autoclosure () throws -> Value) -> LogDecodingError? {
    do {
        _ = try read()
    } catch let error as LogDecodingError {
        return error
    } catch {
        Issue.record(error)
    }
    return nil
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
            try decodePlain(LogBody(body, timing, rules))
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
            return try decodeTracking(LogBody(body, timing, rules), timeParts: timeParts)
        }
    }
}

extension TimeReading {
    init(_ text: String) {
        self = Array(text.utf8).withUnsafeBufferPointer { TimeReading($0) }
    }
}

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
            try decode(LogBody(body, timing, rules))
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

// MARK: - Fuzz tests

extension SeededRandom {
    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    /// Replaces so many bytes by random ones.
    mutating func damage(_ bytes: inout [UInt8], _ count: Int) {
        for _ in 0..<count where !bytes.isEmpty {
            bytes[.random(in: 0..<bytes.count, using: &self)] = .random(in: 0...255, using: &self)
        }
    }

    /// Characters of all lengths, and those that formats escape.
    mutating func text() -> String {
        let pieces = ["a", "xyz ", "é", "世", "😀", "\"", "\\", "\n", "\u{1F}", "/", "\u{7F}"]
        return (0..<Int.random(in: 0...6, using: &self)).map { _ in
            pieces.randomElement(using: &self)!
        }.joined()
    }

    /// The body after one to three accidents.
    mutating func mutated(_ body: [UInt8], _ tempting: [UInt8]) -> [UInt8] {
        var body = body
        for _ in 0..<Int.random(in: 1...3, using: &self) where !body.isEmpty {
            let place = Int.random(in: 0..<body.count, using: &self)
            let byte = tempting.randomElement(using: &self)!
            switch Int.random(in: 0..<6, using: &self) {
            case 0: body.remove(at: place)
            case 1: body.insert(byte, at: place)
            case 2: body.removeLast(body.count - place)
            case 3: body[place] &+= chance(50) ? 1 : 0xFF
            case 4: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            default: body[place] = byte
            }
        }
        return body
    }
}

func expectReadable(_ logs: DecodedLogs) {
    #expect((try? logs.sound.read()) != nil)
    for faulty in logs.faulty { #expect((try? faulty.logs.read()) != nil) }
}
