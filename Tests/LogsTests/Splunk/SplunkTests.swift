import TestSupport
import Testing

@testable import Logs

extension JSONLogDecoder {
    func splunk(
        _ body: String,
        _ rules: LogRules = LogRules()
    ) throws(SplunkFault) -> [SplunkEvents] {
        try padded(Array(body.utf8)) { body throws(SplunkFault) in
            try decodeSplunk(LogBody(body, BatchTiming(arrival: arrival), rules))
        }
    }
}

@Suite
struct SplunkTests {
    private let decoder = JSONLogDecoder()

    @Test("An event of any kind is a log, with the members of an object as its fields")
    func kinds() throws {
        let bodies: [(String, [[String]])] = [
            (#"{"event":"he said \"hi\""}"#, [["message", #"he said "hi""#]]),
            (#"{"event":12.50}"#, [["message", "12.50"]]),
            (#"{"event":true}"#, [["message", "true"]]),
            (#"{"event":[1, {"a": "b"}]}"#, [["message", #"[1,{"a":"b"}]"#]]),
            (
                #"{"event":{"a":"b","n":{"x": 1},"z":null}}"#,
                [["a", "b"], ["n", #"{"x":1}"#], ["z", ""]]
            ),
            (
                #"{"fields":{"code":7,"who":["x", "y"]},"unknown":{"a":[1]},"event":"e"}"#,
                [["code", "7"], ["who", #"["x","y"]"#], ["message", "e"]]
            ),
            (#"{"event":"e","fields":null,"time":null,"host":null}"#, [["message", "e"]]),
            (#"{"event":"e","fields":{},"time":""}"#, [["message", "e"]]),
        ]
        for (body, fields) in bodies {
            let events = try decoder.splunk(body)
            #expect(try events.map { try $0.logs.sound.read() } == [[Read(fields)]], "\(body)")
        }
    }

    @Test(
        "A time has a fraction, as number or text, wherever it stands",
        arguments: [
            #"{"time":1736843399.123456,"event":{"a":"b"}}"#,
            #"{"event":{"a":"b"},"time":"1736843399.123456"}"#,
            #"{"event":{"a":"b"},"time":1736843399123456}"#,
        ]
    )
    func times(body: String) throws {
        let events = try decoder.splunk(body)
        let read = try #require(events.first).logs.sound.read()
        #expect(
            read == [Read([["a", "b"]], seconds: arrivalSeconds - 1, nanoseconds: 123_456_000)]
        )
    }

    @Test("An unreadable time stays as a field, behind earlier fields")
    func oddTimes() throws {
        for time in [#""yesterday""#, "-5", #""17368433991736843399173684339917368433991""#] {
            let body = #"{"fields":{"a":"b"},"time":\#(time),"event":"e"}"#
            let log = try #require(try decoder.splunk(body).first?.logs.sound.read().first)
            let kept = time.filter { $0 != "\"" }
            #expect(log.fields == [["a", "b"], ["__original_time__", kept], ["message", "e"]])
            #expect(log.seconds == arrivalSeconds)
        }
    }

    @Test("Events follow each other with anything between them, also in arrays")
    func several() throws {
        let one = #"{"event":"a"}"#
        for body in [
            "\(one)\(one)\(one)", " \(one)\n\(one)\r\n\(one)\n", "[\(one),\(one)]\(one)",
            "[]\(one)\(one)[\(one)]",
            "\u{FEFF}\(one) \(one)[ \(one) ]",
        ] {
            let events = try decoder.splunk(body)
            #expect(events.map(\.logs.count) == [3], "\(body)")
        }
    }

    @Test("Events are together with those of the same origin, each with its first one's number")
    func origins() throws {
        let body = """
            {"event":"0","host":"h","source":"s","sourcetype":"t","index":"i"}
            {"event":"1"}
            {"sourcetype":"t","source":"s","index":"i","host":"h","event":"2"}
            {"event":"3","host":"h\\u0031"}
            {"event":"4","host":null}
            {"event":"5","host":7}
            """
        let events = try decoder.splunk(body)
        #expect(events.map(\.first) == [0, 1, 3, 5])
        #expect(events.map(\.host) == ["h", "", "h1", "7"])
        #expect(events.map(\.source) == ["s", "", "", ""])
        #expect(events.map(\.sourcetype) == ["t", "", "", ""])
        #expect(events.map(\.index) == ["i", "", "", ""])
        let texts = try events.map { try $0.logs.sound.read().map { $0.fields[0][1] } }
        #expect(texts == [["0", "2"], ["1", "4"], ["3"], ["5"]])
    }

    @Test("The rules' outcome for a log counts for its own origin")
    func ruled() throws {
        let body =
            #"{"event":"a","host":"1"}{"event":"b","host":"2","time":1}{"event":"c","host":"1"}"#
            + #"{"event":"d","host":"2"}{"event":"e","host":"2","time":2}"#
        let dropping = try decoder.splunk(body, LogRules(times: .sls, late: .drop))
        #expect(dropping.map(\.logs.sound.count) == [2, 1])
        #expect(dropping.map(\.logs.dropped) == [0, 2])
        let burying = try decoder.splunk(body, LogRules(times: .sls, late: .setAside))
        #expect(burying.map(\.logs.count) == [2, 3])
        #expect(burying.map { $0.logs.faulty.map(\.logs.count) } == [[], [2]])
        #expect(try burying[1].logs.sound.read().map(\.fields) == [[["message", "d"]]])
    }

    private static let wrong: [(String, SplunkFault.Kind, Int?, Int)] = [
        ("", .noData, nil, 0), (" \r\n\t", .noData, nil, 0), ("[]", .noData, nil, 0),
        ("7", .other, 0, 0), (#"{"event":"a"}7"#, .other, 1, 13), ("[7]", .other, 0, 1),
        (#"[{"event":"a"},]"#, .other, 1, 15), (#"[[{"event":"a"}]]"#, .other, 0, 1),
        (#"{"event":"a"}{}"#, .eventMissing, 1, 13), (#"{"time":1}"#, .eventMissing, 0, 0),
        (#"{"event":null}"#, .eventMissing, 0, 9), (#"{"event":""}"#, .eventBlank, 0, 9),
        (#"{"event":{}}"#, .eventBlank, 0, 9), (#"{"event":"a","event":"b"}"#, .other, 0, 13),
        (#"{"event":"a","fields":[1]}"#, .fields, 0, 22),
        (#"{"event":"a","time":true}"#, .other, 0, 20),
        (#"{"event":"a","time":{}}"#, .other, 0, 20),
        (#"{"event":"a","host":["b"]}"#, .other, 0, 20),
        (#"{"event":"a"}{"event":x}"#, .other, 1, 22), (#"{"event":"a","b"}"#, .other, 0, 16),
    ]

    @Test("Mistakes tell their kind, the event and the place", arguments: 0..<wrong.count)
    func mistakes(index: Int) {
        let (body, kind, event, position) = Self.wrong[index]
        let fault = #expect(throws: SplunkFault.self, "\(body)") { try decoder.splunk(body) }
        #expect(fault?.kind == kind && fault?.event == event, "\(body)")
        #expect(fault?.cause.position == position, "\(body)")
    }

    @Test("Logs, origins and the bytes of origins are bounded")
    func limits() {
        var limits = LogLimits()
        (limits.logs, limits.streams, limits.tagsBytes) = (3, 2, 8)
        let decoder = JSONLogDecoder(limits: limits)
        func fault(_ body: String) -> SplunkFault? {
            do throws(SplunkFault) {
                _ = try decoder.splunk(body)
                return nil
            } catch {
                return error
            }
        }
        func events(_ hosts: String...) -> String {
            hosts.map { #"{"event":"a","host":"\#($0)"}"# }.joined()
        }
        #expect(fault(events("a", "b", "a")) == nil)
        #expect(fault(events("a", "b", "c"))?.kind == .tooMany)
        #expect(fault(events("a", "b", "c"))?.event == 2)
        #expect(fault(events("a", "a", "b", "b"))?.kind == .tooMany)
        #expect(fault(events("12345678")) == nil)
        #expect(fault(events("123456789"))?.kind == .other)
        #expect(fault(#"{"event":"a","host":"1234","source":"56789"}"#)?.cause.position == 36)
    }

    private static let body =
        #"{"time":1736843399.5,"host":"h\u0031","source":"/var/log/é","sourcetype":"_json","#
        + #""index":"main","event":{"a":"b","n":[1,{"x":"\n"}]},"fields":{"k":"v"}}"#
        + "\n[" + #"{"event":"text \ud83d\ude00","other":{"a":[true,null]}},"#
        + #"{"event":7,"host":"h1"}]"#

    @Test("A body cut at any byte is refused, or has the events before the cut")
    func truncated() throws {
        let decoder = JSONLogDecoder()
        let bytes = Array(Self.body.utf8)
        for count in 0..<bytes.count {
            do throws(SplunkFault) {
                let events = try padded(Array(bytes[..<count])) { body throws(SplunkFault) in
                    try decoder.decodeSplunk(LogBody(body, BatchTiming(arrival: arrival)))
                }
                // Behind the first event, where nothing of the second has come.
                #expect(events.reduce(0) { $0 + $1.logs.count } == 1, "\(count)")
            } catch {
                #expect(0...count ~= error.cause.position)
            }
        }
        #expect(try decoder.splunk(Self.body).reduce(0) { $0 + $1.logs.count } == 3)
    }
}
