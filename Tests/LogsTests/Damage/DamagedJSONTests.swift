import TestSupport
import Testing

@testable import Logs

/// Bodies that are not JSON, or not all of them, as they come from devices.
@Suite struct DamagedJSONTests {
    static let rules = LogRules(damage: .setAside)
    let decoder = JSONLogDecoder()

    private func read(_ body: [UInt8]) throws -> DecodedLogs { try decoder.ruled(body, Self.rules) }
    private func read(_ body: String) throws -> DecodedLogs { try read(Array(body.utf8)) }

    private func texts(_ logs: DecodedLogs) throws -> [String] {
        try logs.faulty.flatMap { try $0.logs.read() }.flatMap { $0.fields.map { $0[1] } }
    }

    private func places(_ logs: DecodedLogs) -> [Int] {
        logs.faulty.map { faulty in
            if case .unreadable(let place, _) = faulty.fault { place } else { -1 }
        }
    }

    /// A cut character, and text in GBK.
    static let cut = Array(#"{"msg":"caf"#.utf8) + [0xC3] + Array(#"","n":1}"#.utf8)
    static let gbk = Array(#"{"msg":""#.utf8) + [0xD6, 0xD0, 0xCE, 0xC4] + Array(#""}"#.utf8)

    @Test("A byte that is not UTF-8 costs no log, and its log is marked")
    func bytes() throws {
        let good = Array("{\"msg\":\"\u{FFFD} of its own\"}\n".utf8)
        let logs = try read(good + Self.cut + Self.gbk + good)
        #expect(
            try logs.sound.read() == [
                Read([["msg", "\u{FFFD} of its own"]]),
                Read([["msg", "caf\u{FFFD}"], ["n", "1"], ["__invalid_utf8__", "msg"]]),
                Read([["msg", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"], ["__invalid_utf8__", "msg"]]),
                Read([["msg", "\u{FFFD} of its own"]]),
            ]
        )
        #expect(logs.repaired == 2 && logs.unreadable == 0)
    }

    @Test("A log with too many fields is set aside, and counts once and for nothing else")
    func crowdedLog() throws {
        let fields = (0..<9000).map { "\"f\($0)\":1" }.joined(separator: ",")
        let logs = try read("{\"a\":1}\n{\(fields)}\n{\"b\":2}\n")
        #expect(try logs.sound.read() == [Read([["a", "1"]]), Read([["b", "2"]])])
        #expect(logs.sound.count == 2)
        #expect(logs.unreadable == 1 && logs.faulty.count == 1)
        let tracked = try decoder.tracking(
            "{\"__logs__\":[{\"a\":1},{\(fields)},{\"b\":2}]}",
            Self.rules
        )
        #expect(tracked.logs.sound.count == 2)
        #expect(try tracked.logs.sound.read().count == 2)
        // Nothing is good: the body is refused whole.
        #expect(throws: (any Error).self) { try read("{\(fields)}") }
    }

    @Test("Damaged names and nested values are marked, too")
    func names() throws {
        let body =
            Array(#"[{"a"#.utf8) + [0xFF] + Array(#"":1,"b":{"c":""#.utf8) + [0xFE]
            + Array(#""},"d":"e"}]"#.utf8)
        #expect(
            try read(body).sound.read() == [
                Read([
                    ["a\u{FFFD}", "1"], ["b", "{\"c\":\"\u{FFFD}\"}"], ["d", "e"],
                    ["__invalid_utf8__", "a\u{FFFD},b"],
                ])
            ]
        )
    }

    @Test("Raw control characters arrive as they are, and in nested values escaped")
    func control() throws {
        let body = "{\"a\":\"x\ty\u{1b}[0m\nz\",\"b\":[\"\t\"]}\u{0}\n{\"a\":\"\u{0}\"}\u{0}"
        let logs = try read(body)
        #expect(
            try logs.sound.read() == [
                Read([["a", "x\ty\u{1b}[0m\nz"], ["b", #"["\t"]"#]]), Read([["a", "\u{0}"]]),
            ]
        )
        #expect(logs.repaired == 0 && logs.faulty.isEmpty)
    }

    @Test("NaN and infinities are stored as their text")
    func numbers() throws {
        let body = #"[{"a":NaN,"b":-Infinity,"c":{"d":[nan,1]}},{"a":1}]"#
        #expect(
            try read(body).sound.read() == [
                Read([["a", "NaN"], ["b", "-Infinity"], ["c", #"{"d":["nan",1]}"#]]),
                Read([["a", "1"]]),
            ]
        )
    }

    static let unreadable: [(body: String, good: Int, texts: [String], places: [Int])] = [
        // NDJSON: a line that is none, one that lost its end, one that lost its start.
        ("{\"a\":1}\nhello\n{\"a\":2}\n", 2, ["hello"], [8]),
        ("{\"a\":1}\n{\"a\":\"x\n{\"a\":2}\n", 2, ["{\"a\":\"x"], [13]),
        ("{\"a\":1}\n{\"a\":[1,\n{\"a\":2}", 2, ["{\"a\":[1,"], [16]),
        ("{\"a\":1}\n\":1}\n{\"a\":2}", 2, ["\":1}"], [8]),
        ("{\"a\":1}\n{\"a\":2", 1, ["{\"a\":2"], [14]),
        ("{\"a\":1,\"b\":{\"a\":1}\n{\"a\":2}", 1, ["{\"a\":1,\"b\":{\"a\":1}"], [18]),
        // An array, cut off or with a bad element.
        ("[{\"a\":1},{\"a\":2},{\"a\":\"x", 2, ["{\"a\":\"x"], [22]),
        ("[{\"a\":1},{\"a\":tru},{\"a\":3}]", 2, ["{\"a\":tru}"], [14]),
        ("[{\"a\":1},{\"a\":\"C:\\x\"},{\"a\":3}]", 2, ["{\"a\":\"C:\\x\"}"], [17]),
        ("[{\"a\":1},7,{\"a\":3}]", 1, ["7,{\"a\":3}]"], [9]),
        // One after the other, and a time that is none.
        ("{\"a\":1}{a:2}{\"a\":3}", 2, ["{a:2}"], [8]),
        ("{\"__time__\":\"noon\"}\n{\"a\":3}", 1, ["{\"__time__\":\"noon\"}"], [12]),
        ("{\"a\":1}}\n{\"a\":3}", 2, ["}"], [7]),
    ]

    @Test(
        "Unreadable texts are set aside with their place, and the rest is stored",
        arguments: unreadable.indices
    )
    func setAside(index: Int) throws {
        let (body, good, texts, places) = Self.unreadable[index]
        let logs = try read(body)
        #expect(logs.sound.count == good, "\(body)")
        #expect(try self.texts(logs) == texts, "\(body)")
        #expect(logs.unreadable == texts.count)
        #expect(self.places(logs) == places, "\(body)")
        #expect(logs.faulty.allSatisfy { $0.fault.code == "LogUnreadable" })
        #expect(throws: LogDecodingError.self) { try decoder.plain(body) }
    }

    private static let cutOff: [(body: String, good: Int, texts: [String], places: [Int])] = [
        (#"{"__logs__":[{"a":1},{"a":2},{"a":"x"#, 2, [#"{"a":"x"#], [34]),
        (#"{"__logs__":[{"a":1},{"a":[1,{"#, 1, [#"{"a":[1,{"#], [30]),
        (#"{"__logs__":[{"a":1},{"a":"]},{"#, 1, [#"{"a":"]},{"#], [26]),
        // The end is missing, and no log is.
        (#"{"__logs__":[{"a":1},{"a":2}"#, 2, [], []),
        (#"{"__logs__":[{"a":1} , "#, 1, [], []),
        // A lost quote takes what is behind it along.
        (#"{"__logs__":[{"a":1},{"a":"x},{"a":3}]}"#, 1, [#"{"a":"x},{"a":3}]}"#], [33]),
        // An element before is none, either.
        (#"{"__logs__":[7,{"a":1},{"a""#, 1, ["7", #"{"a""#], [13, 27]),
    ]

    @Test("The whole logs of a truncated object are stored", arguments: cutOff.indices)
    func objectCutOff(index: Int) throws {
        let (body, good, texts, places) = Self.cutOff[index]
        for (start, shift) in [("", 0), ("\u{FEFF}", 3)] {
            let tracked = try decoder.tracking(start + body, Self.rules)
            #expect(tracked.logs.sound.count == good, "\(body)")
            #expect(try self.texts(tracked.logs) == texts, "\(body)")
            #expect(self.places(tracked.logs) == places.map { $0 + shift }, "\(body)")
            #expect(throws: LogDecodingError.self) { try decoder.tracking(start + body) }
        }
    }

    @Test("Topic, source and tags before the cut of a truncated object hold for its logs")
    func tagsBeforeCut() throws {
        let body = #"{"__topic__":"t","__tags__":{"k":"v"},"__logs__":[{"a":1},{"a"#
        let tracked = try decoder.tracking(body, Self.rules)
        #expect(tracked.topic == "t" && tracked.tags.map(\.value) == ["v"])
        #expect(tracked.logs.sound.count == 1 && tracked.logs.unreadable == 1)
    }

    @Test(
        "An object that was cut off elsewhere, or has no whole log, is refused",
        arguments: [
            #"{"__logs__":[{"a":1"#, #"{"__logs__":["#, #"{"__logs__":[{"a":1}],"__tags__":{"#,
            #"{"__logs__":[{"a":1}]"#, #"{"other":[{"a":1},{"#, #"{"o":{"__logs__":[{"a":1},{"#,
            #"{"__logs__":[7,{"a"#, #"[{"a":1},{"#, "",
        ]
    )
    func notCut(body: String) {
        #expect(throws: LogDecodingError.self) { try decoder.tracking(body, Self.rules) }
    }

    @Test("Places of elements that cannot be read are those of the text that was sent")
    func placesInSent() throws {
        let damage: [UInt8] = [0xFF, 0xFE, 0x01]
        let damaged = Array(#"{"__logs__":[{"a":""#.utf8) + damage + Array(#""},"#.utf8)
        let sent = damaged + Array(#"{"a":tru},{"a":NaN},{"b":fals},{"c":"x"#.utf8)
        let tracked = try decoder.tracking(sent, Self.rules)
        #expect(tracked.logs.sound.count == 2)
        let quote = sent.count - 2
        #expect(places(tracked.logs) == [damaged.count + 5, damaged.count + 25, quote])
    }

    @Test("Elements are set aside as they were sent, not as they were repaired")
    func sentText() throws {
        let text = #"{"b":NaN,"t":"~","c":tru}"#
        let damaged = text.utf8.map { $0 == UInt8(ascii: "~") ? 1 : $0 }
        let start = Array(#"{"__logs__":[{"a":-inf}, "#.utf8)
        for end in ["]}", #",{"d":1}]}"#, #",{"d":1},{"e"#, ","] {
            let tracked = try decoder.tracking(start + damaged + Array(end.utf8), Self.rules)
            let raw = String(decoding: damaged, as: UTF8.self)
            let first = try #require(tracked.logs.faulty.first)
            #expect(try first.logs.read() == [Read([["__raw_log__", raw]])], "\(end)")
        }
    }

    @Test("Text that is set aside is UTF-8, and has its arrival as time")
    func rawText() throws {
        let bad = Array("{\"a\":\"".utf8) + [0xFF] + Array("\"x}\n{}".utf8)
        let logs = try read(bad)
        let fields = [
            ["__raw_log__", "{\"a\":\"\u{FFFD}\"x}"], ["__invalid_utf8__", "__raw_log__"],
        ]
        #expect(try logs.faulty[0].logs.read() == [Read(fields)])
        #expect(logs.sound.count == 1)
    }

    @Test(
        "A body without a readable log is refused",
        arguments: [
            "hello", "{\"a\":", "[1,2]", "\u{0}", "{\"a\":tru}\n{a:1}", "NaN", "[", "",
            "{\"a\":\"x",
        ]
    )
    func nothingGood(body: String) {
        let strict = Result { () throws(LogDecodingError) in try decoder.ruled(body, LogRules()) }
        let lenient = Result { () throws(LogDecodingError) in try decoder.ruled(body, Self.rules) }
        guard case .failure(let expected) = strict, case .failure(let error) = lenient else {
            Issue.record("\(body) is taken")
            return
        }
        #expect(error == expected)
    }

    @Test("Too many or too long unreadable texts refuse the whole body")
    func bounds() throws {
        var limits = LogLimits()
        limits.unreadable = 3
        limits.unreadableBytes = 10
        let decoder = JSONLogDecoder(limits: limits)
        let three = "{}\nx\nx\nx\n"
        #expect(try decoder.ruled(three, Self.rules).unreadable == 3)
        let many = LogDecodingError(
            position: 9,
            reason: "more than 3 parts of the body cannot be read; nothing of it is stored"
        )
        #expect(throws: many) { try decoder.ruled(three + "x\nx", Self.rules) }
        #expect(try decoder.ruled("{}\n0123456789", Self.rules).unreadable == 1)
        let long = LogDecodingError(
            position: 3,
            reason: "more than 10 bytes in a row cannot be read; nothing of the body is stored"
        )
        #expect(throws: long) { try decoder.ruled("{}\n01234567890", Self.rules) }
        limits.logs = 2
        let fewer = JSONLogDecoder(limits: limits)
        #expect(throws: LogDecodingError.self) { try fewer.ruled("{}\n{}\nx", Self.rules) }
        limits.repairBytes = 1
        let tight = JSONLogDecoder(limits: limits)
        let control = "{\"a\":\"\u{1}\"}"
        let error = #expect(throws: LogDecodingError.self) { try tight.ruled(control, Self.rules) }
        #expect(error?.kind == .tooLarge)
    }

    /// The promise to clients that send lines: a damaged line affects no other line.
    @Test("Changed bytes in some lines leave the other documents as they are", arguments: 0..<8)
    func untouched(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(40 + seed))
        let tempting = Array("{}[]:,\"\\ \n0-1.eEtfnu\u{0}\u{1}".utf8) + [0x80, 0xC3, 0xE4, 0xFF]
        for _ in 0..<60 {
            let count = Int.random(in: 1...40, using: &random)
            var lines: [[UInt8]] = (0..<count).map { line in
                let text = random.text().unicodeScalars.map { scalar in
                    switch scalar.value {
                    case 0x22, 0x5C: "\\\(scalar)"
                    case ..<0x10: "\\u000" + String(scalar.value, radix: 16)
                    case ..<0x20: "\\u00" + String(scalar.value, radix: 16)
                    default: String(scalar)
                    }
                }.joined()
                let nested = random.chance(30) ? #","o":{"p":[1,"}"]}"# : ""
                return Array(#"{"line":"\#(line)","msg":"\#(text)\#u{FFFD}"\#(nested)}"#.utf8)
            }
            let expected = try lines.map { try decoder.plain($0).read()[0] }
            var touched: Set<Int> = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let line = Int.random(in: 0..<count, using: &random)
                touched.insert(line)
                let place = Int.random(in: 0..<lines[line].count, using: &random)
                lines[line][place] =
                    random.chance(50)
                    ? UInt8.random(in: 0...255, using: &random)
                    : tempting.randomElement(using: &random)!
            }
            let body = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
            let untouched = (0..<count).filter { !touched.contains($0) }.map { expected[$0] }
            guard let logs = try? read(body) else {
                #expect(untouched.isEmpty, "\(String(decoding: body, as: UTF8.self))")
                continue
            }
            let found = try logs.sound.read()
            var rest = found[...]
            for log in untouched {
                guard let place = rest.firstIndex(of: log) else {
                    Issue.record("\(log) is missing from \(String(decoding: body, as: UTF8.self))")
                    break
                }
                rest = rest[(place + 1)...]
            }
            for faulty in logs.faulty { #expect((try? faulty.logs.read()) != nil) }
        }
    }

    @Test("Sound bodies are read as without these rules", arguments: 0..<2)
    func sound(seed: Int) throws {
        var writer = JSONFuzzTests.Writer(random: SeededRandom(seed: UInt64(70 + seed)))
        for _ in 0..<300 {
            let body = writer.mutated(writer.body())
            guard let strict = try? decoder.ruled(body, LogRules()) else {
                if let logs = try? read(body) {
                    #expect(logs.sound.count > 0)
                    expectReadable(logs)
                }
                continue
            }
            #expect(try read(body) == strict)
        }
    }
}
