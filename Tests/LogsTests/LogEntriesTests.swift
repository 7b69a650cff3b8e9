import TestSupport
import Testing

@testable import Logs

@Suite
struct LogEntriesTests {
    /// Logs of 20 to about 300 bytes.
    static let logs: EncodedLogs = {
        var logs = EncodedLogs()
        for number in 0..<200 {
            let value = String(repeating: "x", count: number * 7 % 290)
            logs.append(time: LogTime(seconds: arrivalSeconds), fields: [("n\(number)", value)])
        }
        return logs
    }()

    @Test(
        "Pieces are cut between entries, stay below the bound and lose nothing",
        arguments: [1, 100, 333, 1000, 5000, 1_000_000]
    )
    func pieces(bound: Int) throws {
        let pieces = try Self.logs.pieces(atMost: bound)
        #expect(pieces.flatMap(\.bytes) == Self.logs.bytes)
        for piece in pieces {
            #expect(try LogEntries.count(piece.bytes) == piece.count)
            #expect(piece.bytes.count <= bound || piece.count == 1)
        }
        // No two neighbours would have fitted together.
        for (left, right) in zip(pieces, pieces.dropFirst()) {
            let first = try right.pieces(atMost: 1)[0]
            #expect(left.bytes.count + first.bytes.count > bound)
        }
    }

    @Test("Pieces have no more logs than asked for", arguments: [1, 7, 200, 1000])
    func pieceLogs(bound: Int) throws {
        let pieces = try Self.logs.pieces(atMost: .max, logs: bound)
        #expect(pieces.allSatisfy { $0.count <= bound })
        #expect(pieces.count == (200 + bound - 1) / bound)
    }

    @Test("Empty text has no pieces")
    func nothing() throws {
        #expect(try EncodedLogs().pieces(atMost: 10).isEmpty)
    }

    @Test("Damaged entries are an error, wherever they are cut or changed")
    func damaged() throws {
        let whole = Array(Self.logs.bytes.prefix(600))
        var random = SeededRandom(seed: 1)
        for _ in 0..<20_000 {
            var damaged = Array(whole.prefix(.random(in: 0...600, using: &random)))
            random.damage(&damaged, 3)
            let count = try? LogEntries.count(damaged)
            #expect(count ?? 0 <= 300)
            _ = try? EncodedLogs(bytes: damaged, count: 10).read(unchecked: true)
        }
        #expect(throws: LogDecodingError.self) { try LogEntries.count([0x0A]) }
        #expect(throws: LogDecodingError.self) { try LogEntries.count([0x0A, 5, 0]) }
        #expect(throws: LogDecodingError.self) { try LogEntries.count([0x12, 0]) }
        let endless: [UInt8] = [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        #expect(throws: LogDecodingError.self) { try LogEntries.count(endless) }
    }

    private func entry(
        _ time: LogTime,
        _ fields: [(key: String, value: String)]
    ) -> EncodedLogs {
        var logs = EncodedLogs()
        logs.append(time: time, fields: fields)
        return logs
    }

    private func rewritten(_ log: EncodedLogs, to time: LogTime) throws -> EncodedLogs {
        var result = EncodedLogs()
        try log.bytes.withUnsafeBytes { try result.append(entry: $0, rewrittenTo: time) }
        return result
    }

    private func read(_ log: EncodedLogs) throws -> LogEntry {
        try log.bytes.withUnsafeBytes { try LogEntry($0) }
    }

    @Test(
        "A log's time is found without reading its fields",
        arguments: [0, 127, 1_736_843_400, .max]
    )
    func time(seconds: UInt32) {
        let log = entry(LogTime(seconds: seconds, nanoseconds: 5), [("a", "b")])
        #expect(log.bytes.withUnsafeBytes { LogTime(ofEntry: $0)?.seconds } == seconds)
    }

    @Test(
        "Bytes that are no log entry have no time",
        arguments: [[], [0x0A], [0x0A, 0x02, 0x12, 0x00], [0x12, 0x00]]
    )
    func noTime(bytes: [UInt8]) {
        #expect(bytes.withUnsafeBytes { LogTime(ofEntry: $0) } == nil)
    }

    @Test("A rewritten log keeps its fields, and its own seconds as one more")
    func rewriting() throws {
        let fields = [
            (key: "a", value: "b"), (key: "long", value: String(repeating: "v", count: 300)),
        ]
        let log = entry(LogTime(seconds: 1_000_000_000, nanoseconds: 7), fields)
        let result = try rewritten(log, to: LogTime(seconds: 1_736_843_400))
        let content = try read(result)
        #expect(result.count == 1)
        #expect(content.time == LogTime(seconds: 1_736_843_400))
        #expect(content.fields.map(\.key) == ["a", "long", "__original_time__"])
        #expect(content.fields.map(\.value) == ["b", fields[1].value, "1000000000"])
        // It is one entry again, of the right length.
        #expect(try LogEntries.count(result.bytes) == 1)
    }

    @Test("The first replaced time stays the original")
    func again() throws {
        let log = entry(LogTime(seconds: 5), [("__original_time__", "abc")])
        let content = try read(rewritten(log, to: LogTime(seconds: 9)))
        #expect(content.time.seconds == 9)
        #expect(content.fields.map(\.value) == ["abc"])
    }

    @Test(
        "Bytes that are no log entry cannot get another time",
        arguments: [[], [0x12, 0x00], [0x0A, 0x02, 0x12, 0x05]]
    )
    func unreadable(bytes: [UInt8]) {
        #expect(throws: LogDecodingError.self) {
            var result = EncodedLogs()
            try bytes.withUnsafeBytes {
                try result.append(entry: $0, rewrittenTo: LogTime(seconds: 1))
            }
        }
    }
}
