import Testing

@testable import Logs

@Suite
struct JSONTimeTests {
    let decoder = JSONLogDecoder()

    /// Times that a client may send, with their seconds and nanoseconds.
    static let times: [(text: String, seconds: UInt32, nanoseconds: UInt32)] = [
        ("1736843401", 1_736_843_401, 0), ("1736843401.5", 1_736_843_401, 500_000_000),
        ("1736843401.123456789", 1_736_843_401, 123_456_789),
        ("1736843401.1234567899", 1_736_843_401, 123_456_789),
        ("1736843401.000", 1_736_843_401, 0), ("1.736843401e9", 1_736_843_401, 0),
        ("17368434015E-1", 1_736_843_401, 500_000_000),
        ("1736843401123", 1_736_843_401, 123_000_000),
        ("1736843401123.25", 1_736_843_401, 123_250_000), ("1736843401000", 1_736_843_401, 0),
        ("1736843401123456", 1_736_843_401, 123_456_000),
        ("1736843401123456.5", 1_736_843_401, 123_456_500),
        ("1736843401123456789", 1_736_843_401, 123_456_789),
        ("1736843401123456789.9", 1_736_843_401, 123_456_789), ("0", 0, 0), ("-0", 0, 0),
        ("0.5", 0, 500_000_000), ("0.0000000001", 0, 0), ("1", 1, 0), ("1e-400", 0, 0),
        ("0e9999999", 0, 0),
        ("4294967295", .max, 0), ("4294967295999", .max, 999_000_000),
        ("4294967295999999999", .max, 999_999_999), ("100000000000", 100_000_000, 0),
        ("100000000000000", 100_000_000, 0), ("100000000000000000", 100_000_000, 0),
    ]

    @Test(
        "Numbers are seconds, milli-, micro- or nanoseconds by their size",
        arguments: times.indices
    )
    func numbers(index: Int) throws {
        let (text, seconds, nanoseconds) = Self.times[index]
        let expected = [Read([["a", "b"]], seconds: seconds, nanoseconds: nanoseconds)]
        #expect(try decoder.plain("{\"__time__\":\(text),\"a\":\"b\"}") == expected)
        #expect(try decoder.plain("{\"a\":\"b\",\"__time__\":\"\(text)\"}") == expected)
    }

    @Test(
        "RFC 3339 is understood with offsets, fractions and lower-case letters",
        arguments: [
            ("2025-01-14T08:30:01Z", 1_736_843_401, 0), ("2025-01-14t08:30:01z", 1_736_843_401, 0),
            ("2025-01-14 08:30:01Z", 1_736_843_401, 0),
            ("2025-01-14T16:30:01+08:00", 1_736_843_401, 0),
            ("2025-01-13T20:30:01.25-12:00", 1_736_843_401, 250_000_000),
            ("2025-01-14T08:30:01.123456789123Z", 1_736_843_401, 123_456_789),
            ("2025-01-14T08:30:00.000Z", 1_736_843_400, 0), ("1970-01-01T00:00:00Z", 0, 0),
            ("1969-12-31T23:00:00-01:00", 0, 0), ("2024-02-29T00:00:00Z", 1_709_164_800, 0),
            ("2000-02-29T12:00:00Z", 951_825_600, 0), ("2016-12-31T23:59:60Z", 1_483_228_800, 0),
            ("2106-02-07T06:28:15Z", UInt32.max, 0),
            ("2025-01-14T08:30:01-00:00", 1_736_843_401, 0),
        ] as [(String, UInt32, UInt32)]
    )
    func dates(text: String, seconds: UInt32, nanoseconds: UInt32) throws {
        let expected = [Read([], seconds: seconds, nanoseconds: nanoseconds)]
        #expect(try decoder.plain("{\"__time__\":\"\(text)\"}") == expected)
    }

    @Test(
        "A time that cannot be read is refused with its place",
        arguments: [
            #""""#, #"" ""#, #""now""#, "null", "true", "[]", "{}", #""2025-01-14""#,
            #""2025-01-14T08:30:01""#, #""2025-01-14T08:30Z""#, #""2025-13-14T08:30:01Z""#,
            #""2025-02-29T08:30:01Z""#, #""1900-02-29T08:30:01Z""#, #""2025-04-31T08:30:01Z""#,
            #""2025-00-14T08:30:01Z""#, #""2025-01-00T08:30:01Z""#, #""2025-01-14T24:30:01Z""#,
            #""2025-01-14T08:60:01Z""#, #""2025-01-14T08:30:61Z""#, #""2025-01-14T08:30:01.Z""#,
            #""2025-01-14T08:30:01+0800""#, #""2025-01-14T08:30:01+24:00""#,
            #""2025-01-14T08:30:01Zz""#,
            #""+1736843401""#, #""1736843401s""#, #""1736843401 ""#, #""0x67860e08""#, #"".5""#,
            #""5.""#,
            #""1e""#, #""２０２５-01-14T08:30:01Z""#,
        ]
    )
    func unreadable(text: String) {
        let refused = LogDecodingError(
            position: 18,
            reason: JSONFault.Reason.timeUnreadable.sentence
        )
        #expect(throws: refused, "\(text)") {
            try decoder.plain("{\"a\":1,\"__time__\":\(text),\"b\":2}")
        }
    }

    @Test(
        "A time beyond 32 bits of seconds is refused",
        arguments: [
            "-1", "-1736843401", "4294967296", "99999999999", "4294967296000", "99999999999999",
            "4294967296000000", "99999999999999999", "4294967296000000000", "99999999999999999999",
            "1e30", "1e9999", "\"1969-12-31T23:59:59Z\"", "\"2106-02-07T06:28:16Z\"",
            "\"0000-01-01T00:00:00Z\"", "\"9999-12-31T23:59:59Z\"",
            "123456789012345678901234567890123456789012345678901234567890",
        ]
    )
    func outOfRange(text: String) {
        let refused = LogDecodingError(
            position: 12,
            reason: JSONFault.Reason.timeOutOfRange.sentence
        )
        #expect(throws: refused) { try decoder.plain("{\"__time__\":\(text)}") }
    }

    @Test(
        "Without a time it is the arrival, in whole seconds; the time of one log is not that of the next"
    )
    func arrivalTime() throws {
        let body = #"{"a":"1"}{"__time__":1000000000.5,"a":"2"}{"a":"3"}"#
        let logs = try decoder.plain(body)
        #expect(logs.map(\.seconds) == [arrivalSeconds, 1_000_000_000, arrivalSeconds])
        #expect(logs.map(\.nanoseconds) == [0, 500_000_000, 0])
    }

    @Test("The last of two times counts, and the time's name may be escaped")
    func repeated() throws {
        let body = #"{"__time__":1,"a":"","\u005f_time__":"2"}"#
        #expect(try decoder.plain(body) == [Read([["a", ""]], seconds: 2)])
    }

    // MARK: - The part below the second, which PutLogs as JSON has

    private func read(_ log: String, _ rules: LogRules = LogRules()) throws -> [Read] {
        let body = "{\"__topic__\":\"t\",\"__logs__\":[{\(log)},{\"a\":\"b\"}]}"
        let tracked = try decoder.tracking(body, rules, timeParts: true)
        #expect(tracked.topic == "t")
        return try tracked.logs.sound.read()
    }

    @Test(
        "The part below the second completes the time, wherever it stands",
        arguments: [
            #""__time__":1736843300,"__time_ns_part__":123456789,"k":"v""#,
            #""__time_ns_part__":"123456789","k":"v","__time__":"1736843300""#,
            #""__time_ns_part__":5,"__time__":1736843300,"k":"v","__time_ns_part__":123456789"#,
        ]
    )
    func completed(log: String) throws {
        let expected = Read([["k", "v"]], seconds: 1_736_843_300, nanoseconds: 123_456_789)
        #expect(try read(log) == [expected, Read([["a", "b"]])])
    }

    @Test("The nanoseconds go with the time that they belong to")
    func alone() throws {
        #expect(try read(#""__time_ns_part__":5"#)[0] == Read([]))
        let late = try read(#""__time__":12,"__time_ns_part__":5"#, LogRules(times: .sls))
        #expect(late[0] == Read([["__original_time__", "12"]]))
        #expect(
            try read(#""__time__":\#(arrivalSeconds),"__time_ns_part__":7"#)[0]
                == Read([], nanoseconds: 7)
        )
    }

    @Test(
        "A value that is no number of nanoseconds stays a field",
        arguments: ["-1", "1e3", "x", "", "1234567890"]
    )
    func other(value: String) throws {
        let log = "\"__time__\":1736843300,\"__time_ns_part__\":\"\(value)\""
        let expected = Read([["__time_ns_part__", value]], seconds: 1_736_843_300)
        #expect(try read(log)[0] == expected)
    }

    @Test("In web tracking __time_ns_part__ is an ordinary field")
    func tracking() throws {
        _ = try read(#""__time_ns_part__":5"#)
        let tracked = try decoder.tracking(#"{"__logs__":[{"__time_ns_part__":5}]}"#)
        #expect(try tracked.logs.sound.read() == [Read([["__time_ns_part__", "5"]])])
    }

    // MARK: - A field that is the time

    private func read(
        _ body: String,
        _ field: String,
        _ rules: LogRules = LogRules()
    ) throws(LogDecodingError) -> DecodedLogs {
        try padded(Array(body.utf8)) { body throws(LogDecodingError) in
            let timing = BatchTiming(arrival: arrival)
            return try decoder.decodePlain(LogBody(body, timing, rules), timeField: field)
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
    func unreadableField(body: String, position: Int) {
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
