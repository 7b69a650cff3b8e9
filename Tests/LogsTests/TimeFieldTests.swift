import Testing

@testable import Logs

@Suite struct TimeFieldTests {
    let decoder = JSONLogDecoder()

    private func read(
        _ body: String,
        _ field: String,
        _ rules: LogRules = LogRules()
    ) throws(LogDecodingError) -> DecodedLogs {
        try padded(Array(body.utf8)) { body throws(LogDecodingError) in
            let timing = BatchTiming(arrival: arrival)
            return try decoder.decodePlain(body, timing, rules, timeField: field)
        }
    }

    @Test(
        "The time field takes every form of __time__, and is not stored",
        arguments: [
            (#"{"date":1736843401.123456,"a":"b"}"#, "date", 123_456_000),
            (#"{"a":"b","date":1736843401}"#, "date", 0),
            (#"{"date":"2025-01-14T08:30:01.5Z","a":"b"}"#, "date", 500_000_000),
            (#"{"timestamp":"2025-01-14T16:30:01.25+08:00","a":"b"}"#, "timestamp", 250_000_000),
            (#"{"t":"1736843401123","a":"b"}"#, "t", 123_000_000),
            (#"{"t":1736843401123456,"a":"b"}"#, "t", 123_456_000),
            (#"{"@timestamp":1736843401123456789,"a":"b"}"#, "@timestamp", 123_456_789),
            (#"{"d\u0061te":1736843401,"a":"b"}"#, "date", 0),
            (#"{"é":1736843401,"a":"b"}"#, "é", 0),
            (#"{"date":1736843401,"a":"b"}"#, "__time__", nil),
            (#"{"a":"b"}"#, "date", nil), (#"{"a":"b","dat":1,"datex":2}"#, "date", nil),
        ] as [(String, String, UInt32?)]
    )
    func forms(body: String, field: String, nanoseconds: UInt32?) throws {
        let log = try #require(try read(body, field).sound.read().first)
        #expect(log.seconds == (nanoseconds == nil ? arrivalSeconds : 1_736_843_401))
        #expect(log.nanoseconds == nanoseconds ?? 0)
        if nanoseconds != nil { #expect(log.fields == [["a", "b"]]) }
    }

    @Test("The time field counts in the log itself, not in a nested object")
    func nested() throws {
        let log = try read(#"{"a":{"date":5},"date":1736843401}"#, "date").sound.read()
        #expect(log == [Read([["a", #"{"date":5}"#]], seconds: 1_736_843_401)])
    }

    @Test("The last one of the time field and __time__ counts")
    func both() throws {
        let logs = try read(
            #"{"date":1736843401,"__time__":1736843402}{"__time__":1736843402,"date":1736843401}"#,
            "date"
        )
        #expect(try logs.sound.read().map(\.seconds) == [1_736_843_402, 1_736_843_401])
    }

    @Test(
        "An unreadable time field is refused, as __time__ is",
        arguments: [
            (#"{"date":"yesterday"}"#, 8), (#"{"date":null}"#, 8), (#"{"date":true}"#, 8),
            (#"{"date":{}}"#, 8), (#"{"a":1,"date":-5}"#, 14),
            (#"{"date":"2025-01-14T08:30:01"}"#, 8),
        ]
    )
    func unreadable(body: String, position: Int) {
        let fault = #expect(throws: LogDecodingError.self) { try read(body, "date") }
        #expect(fault?.position == position)
        #expect(fault?.reason.hasPrefix("a log's time must ") == true)
    }

    @Test("A time field outside the window is kept as __time__ would be")
    func late() throws {
        let body = #"{"date":1000000000,"a":"b"}"#
        let logs = try read(body, "date", LogRules(times: .sls)).sound.read()
        #expect(logs == [Read([["__original_time__", "1000000000"], ["a", "b"]])])
        let kept = try read(body, "date", LogRules(times: .sls, late: .setAside))
        #expect(kept.faulty.first?.logs.count == 1)
    }

    @Test("The time field does not carry over to the next body")
    func forgotten() throws {
        _ = try read(#"{"date":1736843401}"#, "date")
        #expect(throws: LogDecodingError.self) { try read(#"{"date":"x"}"#, "date") }
        let log = try decoder.plain(#"{"date":1736843401}"#)
        #expect(log == [Read([["date", "1736843401"]])])
    }
}
