import Testing

@testable import Logs

@Suite struct OTLPTests {
    private let decoders = OTLPPair()

    @Test("A request of the reference implementation means what it should, in both encodings")
    func reference() throws {
        #expect(try decoders.read(RealRequest.protobuf).sound.read() == RealRequest.logs)
        #expect(try decoders.read(json: RealRequest.json).sound.read() == RealRequest.logs)
    }

    /// Both encodings of one record, which must agree.
    private func read(_ record: SampleRequest.Record, _ rules: LogRules = LogRules()) throws -> Read
    {
        let request = SampleRequest(record)
        let logs = try decoders.read(request.protobuf(), rules)
        #expect(try decoders.read(json: request.json(), rules) == logs)
        return try #require(try logs.sound.read().first)
    }

    @Test("A record that says nothing is still a log: with all fields that others have")
    func nothing() throws {
        let log = try read(.init())
        #expect(
            log
                == Read([
                    ["host", ""], ["service", ""], ["resource", "{}"], ["otlp.name", ""],
                    ["otlp.version", ""], ["timeUnixNano", "0"], ["severityNumber", "0"],
                    ["severityText", ""], ["attribute", "{}"], ["content", ""], ["flags", "0"],
                    ["traceID", ""], ["spanID", ""],
                ])
        )
    }

    @Test("Requests without logs have none")
    func empty() throws {
        for body in [[], Wire.bytes(1, []), Wire.bytes(1, Wire.bytes(2, [])), Wire.any(9, type: 2)]
        {
            #expect(try decoders.read(body) == DecodedLogs())
        }
        for body in [
            "{}", #"{"resourceLogs":[]}"#, #"{"resourceLogs":null}"#, #"{"resourceLogs":[{}]}"#,
            #"{"resourceLogs":[{"scopeLogs":[{}]}]}"#, #"{"new":[{"a":1}]}"#,
        ] {
            #expect(try decoders.read(json: body) == DecodedLogs())
        }
    }

    @Test(
        "Whole numbers may have a point or an exponent, as protobuf's JSON allows",
        arguments: [
            ("2.0", "2"), ("1e3", "1000"), ("\"1.5E+1\"", "15"), ("-120e-1", "-12"), ("0.000", "0"),
            ("-0.0", "0"), ("9223372036854775807.0", "9223372036854775807"),
            ("-9.223372036854775808e18", "-9223372036854775808"), ("0e999", "0"),
        ]
    )
    func wholeNumbers(number: String, written: String) throws {
        let record = #"{"body":{"intValue":\#(number)}}"#
        let logs = try decoders.read(
            json: #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[\#(record)]}]}]}"#
        )
        let log = try #require(try logs.sound.read().first)
        #expect(log.fields.contains(["content", written]), "\(log.fields)")
    }

    @Test("A log's time is its own, else when it was seen, else its arrival")
    func times() throws {
        let (time, seen) = (UInt64(arrivalSeconds) * 1_000_000_000 - 5, UInt64(7_000_000_008))
        let both = try read(.init(time: time, observedTime: seen))
        #expect(both.seconds == arrivalSeconds - 1 && both.nanoseconds == 999_999_995)
        let observed = try read(.init(observedTime: seen))
        #expect(observed.seconds == 7 && observed.nanoseconds == 8)
        let late = try read(.init(time: seen), LogRules(times: .sls))
        #expect(late.seconds == arrivalSeconds)
        #expect(late.fields.first == ["__original_time__", "7.000000008"])
        let far = try read(.init(time: .max), LogRules(times: .sls))
        #expect(far.fields.first == ["__original_time__", "18446744073.709551615"])
        #expect(far.fields.contains(["timeUnixNano", "18446744073709551615"]))
    }

    @Test("Logs that the rules refuse are treated by them, and the others are taken")
    func rules() throws {
        let long = String(repeating: "v", count: 1 << 20)
        let records: [SampleRequest.Record] = [
            .init(time: 5), .init(body: .string(long + "v")), .init(body: .string("fine")),
        ]
        let request = SampleRequest([([], [.init(records: records)])])
        let rules = LogRules(times: .sls, late: .drop, oversize: .setAside)
        let logs = try decoders.read(request.protobuf(), rules)
        #expect(logs.sound.count == 1 && logs.dropped == 1 && logs.count == 3)
        #expect(
            logs.faulty.map(\.fault) == [.valueTooLong(field: "content", bytesMax: 1 << 20)]
        )
        #expect(try decoders.read(json: request.json(), rules) == logs)
    }

    @Test("A device's clock is corrected as for others")
    func skew() throws {
        let time = UInt64(arrivalSeconds) * 1_000_000_000
        let request = SampleRequest(.init(time: time))
        let logs = try decoders.read(request.protobuf(), skew: 60)
        #expect(logs.corrected == 1)
        let log = try #require(try logs.sound.read().first)
        #expect(log.seconds == arrivalSeconds + 60)
        #expect(log.fields.last == ["__clock_skew__", "60"])
        #expect(try decoders.read(json: request.json(), skew: 60) == logs)
    }

    private static let bodies: [SampleValue] = [
        .empty, .string(""), .string("\"\\/\u{1}\u{7F}é世😀"), .boolean(true), .integer(.min),
        .integer(.max), .double(0.1, "0.1"), .double(-.infinity, "-Infinity"), .double(.nan, "NaN"),
        .bytes([], base64: ""), .bytes([1], base64: "AQ=="), .bytes([1, 2], base64: "AQI="),
        .bytes([0xFB, 0xFF, 0xFE], base64: "+//+"), .array([]), .pairs([]),
        .array([.empty, .array([.double(.infinity, "Infinity")]), .bytes([9], base64: "CQ==")]),
        .pairs([("a\"\n", .string("\t")), ("", .pairs([("x", .boolean(false))]))]),
    ]

    @Test("Every kind of value is a body, an attribute and a part of others", arguments: bodies)
    func values(value: SampleValue) throws {
        let record = SampleRequest.Record(body: value, attributes: [("k", value), ("", value)])
        let log = try read(record)
        #expect(log.fields == SampleRequest(record).fields[0])
        let nested = SampleRequest.Record(body: .array([value, .pairs([("k", value)])]))
        #expect(try read(nested).fields == SampleRequest(nested).fields[0])
    }

    @Test("Host and service may be any value, and may stand among the attributes of a log, too")
    func hosts() throws {
        let attributes: [(String, SampleValue)] = [
            ("host.name", .integer(1)), ("a", .boolean(true)), ("service.name", .array([.empty])),
        ]
        let request = SampleRequest([
            (attributes, [.init(records: [.init(attributes: attributes)])])
        ])
        let log = try #require(try decoders.read(request.protobuf()).sound.read().first)
        #expect(
            log.fields.prefix(3) == [
                ["host", "1"], ["service", "[null]"], ["resource", #"{"a":true}"#],
            ]
        )
        #expect(
            log.fields.contains(["attribute", #"{"host.name":1,"a":true,"service.name":[null]}"#])
        )
        #expect(try decoders.read(json: request.json()).sound.read() == [log])
    }

    @Test("Each log has its own resource and scope")
    func apart() throws {
        let request = SampleRequest([
            (
                [("service.name", .string("one")), ("a", .integer(1))],
                [
                    .init(
                        name: "x",
                        version: "1",
                        attributes: [("s", .integer(2))],
                        records: [.init()]
                    ),
                    .init(records: [.init(), .init()]),
                ]
            ),
            ([], [.init(name: "y", records: [.init()])]),
        ])
        let logs = try decoders.read(request.protobuf())
        #expect(try logs.sound.read().map(\.fields) == request.fields)
        #expect(try decoders.read(json: request.json()) == logs)
    }

    @Test("Fields in any order mean the same")
    func order() throws {
        let request = SampleRequest([
            (
                [("service.name", .string("one")), ("a", .integer(1))],
                [
                    .init(
                        name: "x",
                        version: "1",
                        records: [
                            .init(
                                time: 5,
                                severityText: "I",
                                body: .string("b"),
                                attributes: [("k", .empty)]
                            )
                        ]
                    )
                ]
            )
        ])
        let logs = try decoders.read(request.protobuf())
        #expect(try decoders.read(request.protobuf { $0.reversed() }) == logs)
        #expect(try decoders.read(json: request.json { $0.reversed() }) == logs)
        let values = request.json().replacing(
            /{"key":("[^"]*"),"value":({[^{}]*})}/,
            with: { #"{"value":\#($0.2),"key":\#($0.1)}"# }
        )
        #expect(values.contains(#"{"value":{"stringValue":"one"},"key":"service.name"}"#))
        #expect(try decoders.read(json: values) == logs)
        // Also a log's attributes with something between them.
        let pair = SampleValue.protobuf([("a", .boolean(true))], field: 6)
        let record = pair + Wire.bytes(3, [0x49]) + pair
        let body = Wire.bytes(1, Wire.bytes(2, Wire.bytes(2, record)))
        let log = try #require(try decoders.read(body).sound.read().first)
        #expect(log.fields.contains(["attribute", #"{"a":true,"a":true}"#]))
        #expect(log.fields.contains(["severityText", "I"]))
    }

    @Test("Text that is not UTF-8 is repaired, and its log is marked")
    func invalid() throws {
        let pair = Wire.bytes(6, Wire.pair([0x6B, 0xFF], Wire.bytes(1, [0x76, 0xE4, 0xB8])))
        let record = Wire.bytes(3, [0xC3]) + pair + Wire.bytes(5, Wire.bytes(1, [0x80]))
        let body = Wire.bytes(1, Wire.bytes(2, Wire.bytes(2, record)))
        let log = try #require(try decoders.read(body).sound.read().first)
        #expect(log.fields.contains(["severityText", "\u{FFFD}"]))
        #expect(log.fields.contains(["attribute", "{\"k\u{FFFD}\":\"v\u{FFFD}\"}"]))
        #expect(log.fields.contains(["content", "\u{FFFD}"]))
        #expect(log.fields.last == ["__invalid_utf8__", "severityText,attribute,content"])
    }

    @Test("Ids of zeros are none; of other lengths they are shown as they are")
    func ids() throws {
        let zero = [UInt8](repeating: 0, count: 16)
        let log = try read(.init(traceID: zero, spanID: [0xAB, 0]))
        #expect(log.fields.suffix(2) == [["traceID", ""], ["spanID", "ab00"]])
    }

    @Test("Flags are shown in hexadecimal", arguments: [0, 1, 0xF, 0x10, 0xABC, .max] as [UInt32])
    func flags(flags: UInt32) throws {
        #expect(try read(.init(flags: flags)).fields.contains(["flags", String(flags, radix: 16)]))
    }
}
