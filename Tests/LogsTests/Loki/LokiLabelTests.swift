import TestSupport
import Testing

@testable import Logs

@Suite
struct LokiLabelTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    /// Texts that Swift calls equal are different here.
    private func keys(_ labels: [(key: String, value: String)]) -> [[UInt8]] {
        labels.map { Array($0.key.utf8) }
    }

    @Test("Labels are told apart by their bytes")
    func bytes() throws {
        let push = SamplePush([(Self.composed, "1"), (Self.decomposed, "2")], "x")
        // In Prometheus's form such names are quoted.
        let quoted = SamplePush(
            [("\"\(Self.composed)\"", "1"), ("\"\(Self.decomposed)\"", "2")],
            "x"
        )
        for streams in [
            try LokiPair().read(quoted.protobuf()), try LokiPair().read(json: push.json()),
        ] {
            #expect(streams.count == 1)
            #expect(
                keys(streams[0].tags) == [Array(Self.decomposed.utf8), Array(Self.composed.utf8)]
            )
        }
    }

    @Test("Labels are in the order of their bytes, however many begin alike")
    func order() throws {
        let names =
            (0..<200).map { "prefix_of_all_\($0 * 7919 % 200)" } + ["a", "B", "é", "b\u{1}"]
        let push = SamplePush(names.map { ($0, "x") }, "line")
        let streams = try LokiPair().read(json: push.json())
        let sorted = names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(keys(streams[0].tags) == sorted)
    }

    @Test("The same labels in another order, or with other blanks, are the same stream")
    func writtenOtherwise() throws {
        let streams = try LokiPair().read(
            json: """
                {"streams":[{"stream":{"a":"1","b":"2"},"values":[["1","x"]]},
                {"stream":{"b":"2","a":"1"},"values":[["2","y"]]},
                {"values":[["3","z"]],"stream":{ "a": "1", "b": "2" }},
                {"stream":{"a":"1","b":"2"},"values":[["4","w"]]},
                {"stream":{"\\u0061":"1","b":"2"},"values":[["5","v"]]},
                {"values":[["6","none"]]}, {"stream":{},"values":[["7","none"]]},
                {"values":[["8","none"]]}]}
                """
        )
        #expect(streams.map(\.logs.count) == [5, 3])
        #expect(streams[0].tags.map(\.key) == ["a", "b"] && streams[1].tags.isEmpty)
    }

    @Test("Labels that are written as before are recognised by their text")
    func recognised() throws {
        var streams = LokiStreams()
        var tags = GatheredTags()
        let texts = ["{\"a\":\"1\"}", "{\"b\":\"1\"}"].map { Array($0.utf8) }
        for (number, text) in texts.enumerated() {
            let place: Result<Int, LokiMistake> = text.withUnsafeBufferPointer { text in
                #expect(streams.index(of: text) == nil)
                tags.removeAll()
                tags.add("\(number)", "1", LogLimits())
                let place = Result { () throws(LokiMistake) in
                    try streams.index(of: &tags, writtenAs: text, LogLimits())
                }
                #expect(streams.index(of: text) == number)
                return place
            }
            #expect(try place.get() == number)
        }
        #expect(streams.groups.count == 2)
    }

    @Test("Labels of different streams are bounded together")
    func together() {
        var limits = LogLimits()
        limits.labels = 5
        let decoders = LokiPair(limits)
        for (count, isTaken) in [(2, true), (3, false)] {
            // The same labels again and again count once.
            let streams = (0..<12).map {
                SamplePush.Stream(
                    labels: [("a", "\($0 % count)"), ("b", "x")],
                    entries: [.init(line: "x")]
                )
            }
            let push = SamplePush(streams)
            let expected =
                isTaken
                ? nil
                : "the streams with different labels have more than 5 labels together (limits.labels); send smaller batches"
            let fault = refusal(try decoders.read(push.protobuf()))
            #expect(fault?.reason == expected)
            let same = refusal(try decoders.read(json: push.json()))
            #expect(same?.reason == expected)
        }
    }

    // MARK: - Their text

    private func read(_ text: [UInt8]) throws(LokiLabelText.Mistake) -> [[String]] {
        try text.withUnsafeBufferPointer { text throws(LokiLabelText.Mistake) in
            var reader = LokiLabelText(text)
            var (name, value): ([UInt8], [UInt8]) = ([], [])
            var labels: [[String]] = []
            while try reader.next(name: &name, value: &value) {
                labels.append([name, value].map { String(decoding: $0, as: UTF8.self) })
            }
            return labels
        }
    }

    @Test(
        "Labels are read as Loki and Prometheus write them",
        arguments: [
            ("{}", []), (" { } ", []), (#"{a="b"}"#, [["a", "b"]]),
            (#"{a="1", _b2="2",C="3",}"#, [["a", "1"], ["_b2", "2"], ["C", "3"]]),
            ("{ a = \"b\"\t,\n c = \"d\" , }\n", [["a", "b"], ["c", "d"]]),
            (#"{a="\a\b\f\n\r\t\v\\\""}"#, [["a", "\u{7}\u{8}\u{C}\n\r\t\u{B}\\\""]]),
            (#"{a='it\'s "x"'}"#, [["a", "it's \"x\""]]), (#"{a=`\n"'`}"#, [["a", "\\n\"'"]]),
            (#"{a="\x41\102\u4e16\U0001F600"}"#, [["a", "AB世😀"]]),
            (#"{a="\xe4\xb8\x96"}"#, [["a", "世"]]), (#"{a="\ud83d"}"#, [["a", "\u{FFFD}"]]),
            (#"{"service.name"="x", "é"="y"}"#, [["service.name", "x"], ["é", "y"]]),
            (#"{a="世界 }{,="}"#, [["a", "世界 }{,="]]), (#"{a=""}"#, [["a", ""]]),
        ] as [(String, [[String]])]
    )
    func sound(text: String, labels: [[String]]) throws {
        #expect(try read(Array(text.utf8)) == labels)
    }

    @Test(
        "Text that is no set of labels is refused",
        arguments: [
            "", "a", "{", "}", "{a}", "{a=}", "{a=b}", #"{a="b""#, #"{a="b"}}"#, #"{a="b"} x"#,
            #"{a="b" c="d"}"#, #"{,}"#, #"{a="b",,}"#, #"{1a="b"}"#, #"{a.b="c"}"#, #"{a=~"b"}"#,
            #"{a!="b"}"#, #"{="b"}"#, "{a=\"\n\"}", #"{a="\q"}"#, #"{a="\'"}"#, #"{a='\"'}"#,
            #"{a="\x4"}"#, #"{a="\x4g"}"#, #"{a="\777"}"#, #"{a="\18"}"#, #"{a="\u123"}"#,
            #"{a="\U00110000"}"#, #"{a="\UFFFFFFFF"}"#, #"{a="b'}"#, #"{a=`b"}"#, #"{"a"}"#,
            "{\u{A0}}", #"{é="a"}"#,
        ]
    )
    func mistakes(text: String) {
        #expect(throws: LokiLabelText.Mistake.self) { try read(Array(text.utf8)) }
    }

    @Test("Labels that are cut off are refused, wherever that is")
    func cut() {
        let text = Array(#"{app="sh\"op\u4e16", 'x y'=`z` , b="\101",}"#.utf8)
        for count in text.indices {
            #expect(throws: LokiLabelText.Mistake.self) { try read(Array(text[..<count])) }
        }
        #expect((try? read(text))?.count == 3)
    }

    @Test("Reading of any bytes ends")
    func random() {
        var random = SeededRandom(seed: 11)
        let tempting = Array(#"{}="'`,\xu0aU _"#.utf8) + [0xFF, 0]
        let whole = Array(#"{app="sh\"op\u4e16", 'x y'=`z` , b="\101"}"#.utf8)
        for _ in 0..<5000 {
            var text = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                text[place] = tempting.randomElement(using: &random)!
            }
            _ = try? read(text)
        }
    }
}
