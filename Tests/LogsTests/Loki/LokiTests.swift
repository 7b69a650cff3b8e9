import TestSupport
import Testing

@testable import Logs

@Suite
struct LokiTests {
    let decoders = LokiPair()

    @Test("A stream's labels are tags, its lines are logs, its metadata are fields")
    func whole() throws {
        let nanoseconds = Int64(arrivalSeconds) * 1_000_000_000 + 123_456_789
        let push = SamplePush([
            .init(
                labels: [("job", "shop"), ("app", "cart \"x\" 世\n")],
                entries: [
                    .init(time: nanoseconds, line: "first\t\"line\" 😀\n"),
                    .init(line: "", metadata: [("trace_id", "7f"), ("pod", "p-1")]),
                ]
            )
        ])
        let expected = ReadStream(
            [["app", "cart \"x\" 世\n"], ["job", "shop"]],
            [
                Read([["content", "first\t\"line\" 😀\n"]], nanoseconds: 123_456_789),
                Read([["content", ""], ["pod", "p-1"], ["trace_id", "7f"]]),
            ]
        )
        #expect(try decoders.read(push) == [expected])
    }

    @Test("The examples of Loki's documentation are read")
    func documented() throws {
        let body =
            #"{"streams": [{ "stream": { "foo": "bar2" }, "values": [ [ "1736843400000000000", "fizzbuzz" ] ] }]}"#
        let stream = try ReadStream(try #require(try decoders.read(json: body).first))
        #expect(stream == ReadStream([["foo", "bar2"]], [Read([["content", "fizzbuzz"]])]))
    }

    @Test("Streams of the same labels are one, whatever their order")
    func merged() throws {
        let push = SamplePush([
            .init(
                labels: [("a", "1"), ("b", "2")],
                entries: [.init(line: "x"), .init(line: "y")]
            ),
            .init(labels: [("a", "1")], entries: [.init(line: "other")]),
            .init(labels: [("b", "2"), ("a", "1")], entries: [.init(line: "z")]),
            .init(labels: [("c", "3")]),
            .init(labels: [("a", "1"), ("empty", "")], entries: [.init(line: "same")]),
        ])
        let streams = try decoders.read(push)
        #expect(streams.map(\.labels) == [[["a", "1"], ["b", "2"]], [["a", "1"]]])
        #expect(
            streams.map { $0.logs.map { $0.fields[0][1] } } == [
                ["x", "y", "z"], ["other", "same"],
            ]
        )
    }

    @Test("Joined streams keep what was set aside and dropped of each")
    func mergedFaults() throws {
        let old = SamplePush.Entry(time: 1_000_000_000, line: "old")
        let push = SamplePush(
            .init(
                repeating: .init(labels: [("a", "1")], entries: [.init(line: "new"), old]),
                count: 3
            )
        )
        let aside = try decoders.read(push, LogRules(times: .sls, late: .setAside))
        #expect(aside.map(\.faulty) == [3] && aside[0].logs.count == 3)
        let dropped = try decoders.read(push, LogRules(times: .sls, late: .drop))
        #expect(dropped.map(\.dropped) == [3] && dropped[0].logs.count == 3)
    }

    @Test(
        "Times outside the window become the arrival, and stay as a field",
        arguments: [
            (0, "0"), (1, "0.000000001"), (Int64.max, "9223372036.854775807"),
            (1_000_000_000_000_000_000, "1000000000"),
        ] as [(Int64, String)]
    )
    func times(time: Int64, original: String) throws {
        let push = SamplePush([.init(entries: [.init(time: time, line: "a")])])
        let stream = try #require(try decoders.read(push).first)
        #expect(stream.logs == [Read([["__original_time__", original], ["content", "a"]])])
    }

    @Test("Times before 1970 stay as a field")
    func negative() throws {
        let body = #"{"streams":[{"values":[["-5000000000","a"]]}]}"#
        let log = try #require(try decoders.read(json: body).first).logs.sound.read()
        #expect(log == [Read([["__original_time__", "-5000000000"], ["content", "a"]])])
        let time = Wire.number(1, UInt64(bitPattern: -5))
        let entry = Wire.bytes(1, time) + Wire.bytes(2, Array("a".utf8))
        let push = Wire.bytes(1, Wire.bytes(2, entry))
        let same = try #require(try decoders.read(push).first).logs.sound.read()
        #expect(same == [Read([["__original_time__", "-5"], ["content", "a"]])])
    }

    @Test(
        "An entry of protobuf without a time happened when it arrived, one without a line has none"
    )
    func bare() throws {
        let stream = try #require(try decoders.read(Wire.bytes(1, Wire.bytes(2, []))).first)
        #expect(try stream.logs.sound.read() == [Read([["content", ""]])])
        #expect(stream.tags.isEmpty)
    }

    @Test("Metadata never take the line's place, nor SLS's own names")
    func takenNames() throws {
        let metadata = [
            ("content", "mine"), ("__topic__", "t"), ("__time__", "1736843499"), ("", "e"),
        ]
        let push = SamplePush([.init(entries: [.init(line: "line", metadata: metadata)])])
        let stream = try #require(try decoders.read(push).first)
        #expect(
            stream.logs == [
                Read([
                    ["__empty__", "e"], ["__original_time__", "1736843499"], ["content", "line"],
                    ["content_extracted", "mine"], ["field__topic__", "t"],
                ])
            ]
        )
    }

    @Test(
        "Members come in any order; unknown and null ones are skipped",
        arguments: [
            #"{"x":[{}],"streams":[{"values":[["1736843400000000000","l",{"k":"v"}]],"stream":{"a":"1"}}]}"#,
            #"{"streams":[{"stream":{"a":"1","n":null},"y":1,"values":[null,["1736843400000000000","l",{"k":"v"},7,[]]]},{"stream":{"b":"2"},"values":null}],"z":""}"#,
            #"{"streams":[{"stream":{"a":1},"values":[["1736843400000000000","l",{"k":"v"}]]}]} "#,
        ]
    )
    func members(body: String) throws {
        let streams = try decoders.read(json: body).map { try ReadStream($0) }
        #expect(streams == [ReadStream([["a", "1"]], [Read([["content", "l"], ["k", "v"]])])])
    }

    @Test("Metadata that are no text become fields like those of any log")
    func otherMetadata() throws {
        let body =
            #"{"streams":[{"values":[["1736843400000000000","l",{"n":1.50,"o":{"p":[1]},"q":null}]]}]}"#
        let stream = try #require(try decoders.read(json: body).first)
        let fields = [["content", "l"], ["n", "1.50"], ["o", #"{"p":[1]}"#], ["q", ""]]
        #expect(try stream.logs.sound.read() == [Read(fields)])
    }

    @Test("Texts in protobuf that are not UTF-8 are repaired with a mark, labels without one")
    func repaired() throws {
        let entry = Wire.bytes(2, [0x61, 0xFF]) + Wire.bytes(3, Wire.pair([0x6B], [0xFE]))
        let labels = Wire.bytes(1, Array("{a=\"\\xff\"}".utf8))
        let stream = try #require(
            try decoders.read(Wire.bytes(1, labels + Wire.bytes(2, entry))).first
        )
        #expect(stream.tags.map(\.value) == ["\u{FFFD}"])
        let fields = try ReadStream(stream).logs[0].fields
        #expect(
            fields == [
                ["__invalid_utf8__", "k,content"], ["content", "a\u{FFFD}"], ["k", "\u{FFFD}"],
            ]
        )
    }

    @Test("The line's name is recognised however it is written")
    func escapedName() throws {
        let body =
            #"{"streams":[{"values":[["1736843400000000000","line",{"\u0063ontent":"mine"}]]}]}"#
        let stream = try #require(try decoders.read(json: body).first)
        #expect(
            try stream.logs.sound.read() == [
                Read([["content", "line"], ["content_extracted", "mine"]])
            ]
        )
    }

    @Test("Labels that look alike are different when their bytes are")
    func lookalikes() throws {
        let values = ["\u{E9}", "e\u{301}", "\u{E9}"]
        let push = SamplePush(values.map { .init(labels: [("f", $0)], entries: [.init(line: $0)]) })
        let streams = try decoders.read(push.protobuf())
        #expect(streams.map(\.logs.count) == [2, 1])
        #expect(streams.map { Array($0.tags[0].value.utf8).count } == [2, 3])
        #expect(try decoders.read(json: push.json()).map(\.logs.count) == [2, 1])
    }

    @Test("A stream with an untimed entry is reported as untimed")
    func untimed() throws {
        func stream(_ label: String, _ entries: [UInt8]...) -> [UInt8] {
            Wire.bytes(
                1,
                Wire.bytes(1, Array("{a=\"\(label)\"}".utf8))
                    + entries.flatMap { Wire.bytes(2, $0) }
            )
        }
        let timed = Wire.bytes(1, Wire.number(1, UInt64(arrivalSeconds)))
        let body =
            stream("x", timed) + stream("y", timed, []) + stream("z", timed) + stream("x", [])
        #expect(try decoders.read(body).map(\.areTimed) == [false, false, true])
        #expect(
            try decoders.read(json: SamplePush([("a", "1")], "x").json()).map(\.areTimed) == [true]
        )
    }

    @Test("A push without entries has no logs")
    func nothing() throws {
        #expect(try decoders.read([]).isEmpty)
        #expect(try decoders.read(json: #"{"streams":[]}"#).isEmpty)
        #expect(try decoders.read(json: #"{"streams":null}"#).isEmpty)
        #expect(try decoders.read(SamplePush([("a", "1")])).isEmpty)
    }

    private struct Writer {
        var random: SeededRandom

        mutating func count(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }

        mutating func push() -> SamplePush {
            SamplePush(
                (0..<count(3)).map { _ in
                    SamplePush.Stream(
                        labels: ["app", "job", "env"].shuffled(using: &random).prefix(count(3)).map
                        {
                            ($0, random.text())
                        },
                        entries: (0..<count(3)).map { _ in
                            let near = Int64(arrivalSeconds) * 1_000_000_000
                            let far = Int64.random(in: 0 ... .max, using: &random)
                            return SamplePush.Entry(
                                time: count(9) > 0 ? near + far % 1_000_000_000_000 : far,
                                line: random.text(),
                                metadata: ["pod", "content", "__topic__", "k"].prefix(count(4)).map
                                {
                                    ($0, random.text())
                                }
                            )
                        }
                    )
                }
            )
        }
    }

    @Test("Both encodings mean the same, in any order", arguments: 0..<4)
    func sound(seed: Int) throws {
        var writer = Writer(random: SeededRandom(seed: UInt64(seed)))
        let decoders = LokiPair()
        for _ in 0..<100 {
            let push = writer.push()
            let streams = try decoders.read(push)
            #expect(
                streams.reduce(0) { $0 + $1.logs.count }
                    == push.streams.reduce(0) { $0 + $1.entries.count }
            )
            var random = writer.random
            let shuffled = try decoders.read(push.protobuf { $0.shuffled(using: &random) })
            #expect(try shuffled.map { try ReadStream($0) } == streams)
            let json = try decoders.read(json: push.json { $0.shuffled(using: &random) })
            #expect(try json.map { try ReadStream($0) } == streams)
        }
    }
}
