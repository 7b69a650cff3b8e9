import TestSupport
import Testing

@testable import Logs

extension JSONLogDecoder {
    func bulk(
        _ body: [UInt8],
        _ rules: LogRules = LogRules(),
        index: String? = nil
    ) throws(LogDecodingError) -> BulkLogs {
        try padded(body) { body throws(LogDecodingError) in
            try decodeBulk(LogBody(body, BatchTiming(arrival: arrival), rules), index: index)
        }
    }

    func bulk(_ body: String, index: String? = nil) throws(LogDecodingError) -> BulkLogs {
        try bulk(Array(body.utf8), index: index)
    }
}

@Suite
struct BulkTests {
    private let decoder = JSONLogDecoder()

    @Test("Lines with nothing but blanks are passed between actions, and are counted")
    func blankLines() throws {
        let blanks = "\n \n\t \r\n\n"
        let logs = try decoder.bulk(
            "\(blanks)  {\"index\":{}}\n{\"a\":1}\n\(blanks){\"index\":{}}\n \n\(blanks)   ",
            index: "app"
        )
        #expect(logs.parts.map(\.logs.count) == [1])
        // A blank line in the place of a document is none.
        #expect(logs.items.items.map { $0.outcome == .taken } == [true, false])
        let error = #expect(throws: LogDecodingError.self) {
            try decoder.bulk("\(blanks){}\n", index: "app")
        }
        #expect(error?.reason.contains("line [5]") == true)
    }

    @Test("Each document is a log of its index, with the id that it was given")
    func documents() throws {
        let logs = try decoder.bulk(
            """
            {"index":{"_index":"app","_id":"a\\"1","routing":"x","dynamic_templates":{"a":"b"}}}
            {"message":"one","n":{"x": [1, 2]}}
            { "create" : { "_index" : "web", "pipeline" : null } }\r
            {"message":"two","z":null}\r

            {"index":{"_id":7}}
            {}
            """,
            index: "app"
        )
        #expect(logs.parts.map(\.index) == ["app", "web"])
        let read = try logs.parts.map { try $0.logs.sound.read() }
        let first = Read([["_id", "a\"1"], ["message", "one"], ["n", #"{"x":[1,2]}"#]])
        #expect(
            read == [[first, Read([["_id", "7"]])], [Read([["message", "two"], ["z", ""]])]]
        )
        #expect(logs.items.items.map(\.operation) == [.index, .create, .index])
        #expect(logs.items.items.map(\.outcome) == [.taken, .taken, .taken])
        #expect(logs.items.items.map(\.part) == [0, 1, 0])
        let ids = logs.items.items.map { String(decoding: logs.items.id(of: $0), as: UTF8.self) }
        #expect(ids == ["a\"1", "", "7"])
    }

    @Test(
        "@timestamp is the log's time, in any of the forms that clients have",
        arguments: [
            #""2025-01-14T08:29:59.123456789Z""#, #""2025-01-14T16:29:59.123456789+08:00""#,
            "1736843399123456789",
        ]
    )
    func times(time: String) throws {
        let logs = try decoder.bulk(
            "{\"index\":{}}\n{\"a\":\"b\",\"@timestamp\":\(time)}",
            index: "i"
        )
        let read = try logs.parts[0].logs.sound.read()
        #expect(
            read == [Read([["a", "b"]], seconds: arrivalSeconds - 1, nanoseconds: 123_456_789)]
        )
    }

    @Test(
        "Times may be as short as Elasticsearch takes them; without a zone they are UTC",
        arguments: [
            ("2025-01-14T08:30:00.5", 0, 500_000_000), ("2025-01-14T08:30:00", 0, 0),
            ("2025-01-14T08:30", 0, 0), ("2025-01-14T08:30Z", 0, 0), ("2025-01-14T08", -1800, 0),
            ("2025-01-14T16:30:00+0800", 0, 0), ("2025-01-14T16:30+08", 0, 0),
            ("2025-01-14T00:30:00.25-0800", 0, 250_000_000), ("2025-01-14", -30_600, 0),
        ] as [(String, Int, UInt32)]
    )
    func shortTimes(text: String, offset: Int, nanoseconds: UInt32) throws {
        let body = "{\"index\":{}}\n{\"@timestamp\":\"\(text)\"}"
        let read = try decoder.bulk(body, index: "i").parts[0].logs.sound.read()
        let seconds = UInt32(Int(arrivalSeconds) + offset)
        #expect(read == [Read([], seconds: seconds, nanoseconds: nanoseconds)])
        // Other protocols say that there is a zone, and what is none stays.
        #expect(TimeReading(text) == .unreadable)
    }

    @Test(
        "Text that is no time stays a field, however short",
        arguments: [
            "2025-01-14T", "2025-01-14Z", "2025-01", "2025-01-14T08:", "2025-01-14T08:30:",
            "2025-01-14T08:30:00.", "2025-01-14T08:30:00+", "2025-01-14T08:30:00+8",
            "2025-01-14T08:30:00+08:", "2025-01-14T08:30:00+080", "2025-02-30", "2025-01-14T24:00",
            "2025-01-14T08:30:00+0860", "2025-01-14T08:30 ",
        ]
    )
    func noTimes(text: String) throws {
        let body = "{\"index\":{}}\n{\"@timestamp\":\"\(text)\"}"
        let read = try decoder.bulk(body, index: "i").parts[0].logs.sound.read()
        #expect(read == [Read([["__original_time__", text]])])
    }

    @Test("Milliseconds are recognised by their size, and other texts stay as a field")
    func otherTimes() throws {
        let logs = try decoder.bulk(
            """
            {"index":{}}
            {"@timestamp":1736843399123}
            {"index":{}}
            {"@timestamp":"noon","nested":{"@timestamp":1}}
            """,
            index: "i"
        )
        let read = try logs.parts[0].logs.sound.read()
        #expect(read[0] == Read([], seconds: arrivalSeconds - 1, nanoseconds: 123_000_000))
        let kept = [["__original_time__", "noon"], ["nested", #"{"@timestamp":1}"#]]
        #expect(read[1] == Read(kept))
    }

    @Test("A malformed document costs no other document, wherever its fault is")
    func badDocuments() throws {
        let bad: [[UInt8]] =
            [
                #"{"a":"b""#, #"{"a":"b}"#, #"["a"]"#, "7", #"{"a":1} {}"#, #"{"a":tru}"#, "",
                #"{"a":"\x"}"#,
                "{\"a\":\"\u{1}\"}", #"{"a":1}}"#, #"{"a"}"#,
            ].map { Array($0.utf8) } + [[0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]]
        let (action, good) = (Array("{\"index\":{}}\n".utf8), Array("{\"k\":\"v\"}\n".utf8))
        for document in bad {
            let body = action + good + action + document + [0x0A] + action + good
            let logs = try decoder.bulk(body, index: "i")
            let text = String(decoding: document, as: UTF8.self)
            #expect(
                try logs.parts[0].logs.sound.read() == [Read([["k", "v"]]), Read([["k", "v"]])]
            )
            #expect(logs.items.items.map(\.outcome) == [.taken, .unreadable(0), .taken], "\(text)")
            let start = action.count * 2 + good.count
            #expect(start...start + document.count ~= logs.items.fault(0).position, "\(text)")
        }
    }

    @Test("The remarks of a refused document do not reach the next one")
    func forgotten() throws {
        let rules = LogRules(times: .sls, late: .setAside)
        let body =
            "{\"index\":{}}\n{\"@timestamp\":1,\"a\":x}\n{\"index\":{}}\n{\"@timestamp\":1} 7\n"
            + "{\"index\":{}}\n{\"a\":\"b\"}\n{\"index\":{}}\n{\"@timestamp\":1}"
        let logs = try decoder.bulk(Array(body.utf8), rules, index: "i").parts[0].logs
        #expect(try logs.sound.read() == [Read([["a", "b"]])])
        #expect(logs.faulty.map(\.logs.count) == [1] && logs.count == 2)
    }

    @Test("Updates and deletions are no logs, and are answered so")
    func unsupported() throws {
        let logs = try decoder.bulk(
            """
            {"delete":{"_index":"a","_id":"1"}}
            {"update":{"_index":"b","_id":"2"}}
            {"doc":{"x":1}}
            {"index":{"_index":"a"}}
            {"x":1}
            """
        )
        #expect(logs.items.items.map(\.operation) == [.delete, .update, .index])
        #expect(logs.items.items.map(\.outcome) == [.unsupported, .unsupported, .taken])
        #expect(logs.parts.map(\.logs.count) == [1, 0])
    }

    private static let wrong: [(String, Int, String)] = [
        ("", 0, "has no action"), ("\n\n", 0, "has no action"), ("7\n{}", 0, "line [1]"),
        ("{}\n{}", 0, "one of index, create"), (#"{"a":1}"#, 1, "one of index, create"),
        (#"{"index":7}"#, 9, "must be an object"), (#"{"index":{},"create":{}}"#, 12, "one action"),
        (#"{"index":{}} {}"#, 13, "must end here"), (#"{"index":{"_index":["a"]}}"#, 19, "text"),
        ("{\"index\":{\"_index\":\"a\"}}\n{}\n{\"index\":{\"_index\":\"a\"}}", 28, "line 3"),
        ("{\"index\":{}}\n{}", 0, "line 1 names no index"), (#"{"index":{"a":x}}"#, 14, "line [1]"),
        ("\n{\"index", 2, "line [2]"),
    ]

    @Test("A line that is no action refuses the whole body", arguments: 0..<wrong.count)
    func malformed(index: Int) {
        let (body, position, reason) = Self.wrong[index]
        let fault = #expect(throws: LogDecodingError.self, "\(body)") { try decoder.bulk(body) }
        #expect(
            fault?.reason.contains(reason) == true,
            "\(body): \(fault?.reason ?? "")"
        )
        #expect(fault?.kind == .unreadable && fault?.position == position, "\(body)")
    }

    @Test("One index too many costs its own documents only")
    func crowded() throws {
        var limits = LogLimits()
        limits.packages = 2
        let logs = try JSONLogDecoder(limits: limits).bulk(
            """
            {"index":{"_index":"a"}}
            {}
            {"index":{"_index":"b"}}
            {}
            {"create":{"_index":"c","_id":"7"}}
            no JSON
            {"delete":{"_index":"d"}}
            {"index":{"_index":"a"}}
            {"x":"y"}
            """
        )
        let items = logs.items
        #expect(items.items.map(\.part) == [0, 1, nil, nil, 0])
        #expect(items.items.map(\.outcome) == [.taken, .taken, .crowded, .unsupported, .taken])
        let names = items.items.map { String(decoding: items.name(of: $0), as: UTF8.self) }
        #expect(names == ["", "", "c", "d", ""])
        #expect(String(decoding: items.id(of: items.items[2]), as: UTF8.self) == "7")
        #expect(logs.parts.map(\.logs.count) == [2, 1])
    }

    @Test("Logs, actions and names are bounded")
    func limits() {
        var limits = LogLimits()
        (limits.logs, limits.packages) = (3, 2)
        let decoder = JSONLogDecoder(limits: limits)
        func isTooMuch(_ body: String) -> Bool? {
            refusal(try decoder.bulk(body)).map { $0.kind == .tooLarge }
        }
        func actions(_ names: String...) -> String {
            names.map { "{\"index\":{\"_index\":\"\($0)\"}}\n{}\n" }.joined()
        }
        #expect(isTooMuch(actions("a", "b", "a")) == nil)
        #expect(isTooMuch(actions("a", "a", "a", "a")) == true)
        #expect(isTooMuch(actions(String(repeating: "a", count: 512))) == nil)
        #expect(isTooMuch(actions(String(repeating: "a", count: 513))) == false)
        let one = "{\"delete\":{\"_index\":\"a\"}}\n"
        let most = String(repeating: one, count: JSONLogDecoder.bulkItemsMax)
        #expect(isTooMuch(most) == nil)
        #expect(isTooMuch(most + one) == true)
    }

    private static let body = """
        {"create":{"_index":"app-2025.01.14","_id":"\\u0031é","pipeline":"p"}}
        {"@timestamp":"2025-01-14T08:29:59.5Z","message":"世界 \\ud83d\\ude00","n":{"x":[1,{"y":null}]}}
        {"delete":{"_id":"7"}}
        {"index":{}}
        {"a":1,"b":[true,false]}

        """

    @Test("A body cut at any byte is refused, or has the documents before the cut")
    func truncated() throws {
        let decoder = JSONLogDecoder()
        let bytes = Array(Self.body.utf8)
        for count in 0..<bytes.count {
            do throws(LogDecodingError) {
                let logs = try decoder.bulk(Array(bytes[..<count]), index: "i")
                #expect(logs.items.count <= 3)
                for part in logs.parts { #expect((try? part.logs.sound.read()) != nil) }
            } catch {
                #expect(0...count ~= error.position)
            }
        }
        let all = try decoder.bulk(bytes, index: "i")
        #expect(all.items.items.map(\.outcome) == [.taken, .unsupported, .taken])
    }
}
