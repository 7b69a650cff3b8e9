import Testing

@testable import Logs

@Suite struct JSONTimeTests {
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
}
