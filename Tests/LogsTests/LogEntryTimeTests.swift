import Testing

@testable import Logs

@Suite struct LogEntryTimeTests {
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
