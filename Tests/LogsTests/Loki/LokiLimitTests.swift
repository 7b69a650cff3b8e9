import Testing

@testable import Logs

@Suite struct LokiLimitTests {
    private static let push = SamplePush([
        .init(
            labels: [("a", "1"), ("b", "x\"y")],
            entries: [
                .init(line: "line \"é\""), .init(line: "", metadata: [("k", "v"), ("l", "w")]),
            ]
        ), .init(labels: [("a", "2")], entries: [.init(line: "z")]),
    ])

    @Test("A push that is cut off is refused, wherever that is")
    func cut() {
        let decoders = LokiPair()
        let (body, json) = (Self.push.protobuf(), Array(Self.push.json().utf8))
        let first = SamplePush([Self.push.streams[0]]).protobuf().count
        for end in 1..<body.count where end != first {
            let fault = refusal(try decoders.read(Array(body[..<end])))
            #expect(fault != nil && 0...end ~= fault!.position, "\(end)")
        }
        for end in 0..<json.count {
            let text = String(decoding: json[..<end], as: UTF8.self)
            let fault = refusal(try decoders.read(json: text))
            #expect(fault != nil && 0...text.utf8.count ~= fault!.position, "\(text)")
        }
    }

    @Test(
        "JSON that is no push is refused with its place",
        arguments: [
            ("[]", 0, "object"), ("{}", 0, "no streams"), (#"{"streams":{}}"#, 11, "array"),
            (#"{"streams":[],"streams":[]}"#, 24, "only once"),
            (#"{"streams":[]} 1"#, 15, "follow"),
            (#"{"streams":[1]}"#, 12, "object"), (#"{"streams":[{"stream":[]}]}"#, 22, "object"),
            (#"{"streams":[{"stream":null}]}"#, 22, "object"),
            (#"{"streams":[{"stream":{"a":{}}}]}"#, 27, "label"),
            (#"{"streams":[{"stream":{"a":[]}}]}"#, 27, "label"),
            (#"{"streams":[{"stream":{},"stream":{}}]}"#, 34, "only once"),
            (#"{"streams":[{"values":[],"values":[]}]}"#, 34, "only once"),
            (#"{"streams":[{"stream":{}}]}"#, 12, "no values"),
            (#"{"streams":[{}]}"#, 12, "no values"),
            (#"{"streams":[{"labels":"{a=\"b\"}","entries":[]}]}"#, 13, "not read"),
            (#"{"streams":[{"stream":{},"entries":[{"ts":"x","line":"y"}]}]}"#, 25, "not read"),
            (#"{"streams":[{"values":{}}]}"#, 22, "array"),
            (#"{"streams":[{"values":[{}]}]}"#, 23, "an entry is an array"),
            (#"{"streams":[{"values":[[]]}]}"#, 23, "an entry is an array"),
            (#"{"streams":[{"values":[["1"]]}]}"#, 23, "an entry is an array"),
            (#"{"streams":[{"values":[[1,"a"]]}]}"#, 24, "nanoseconds"),
            (#"{"streams":[{"values":[["x","a"]]}]}"#, 24, "nanoseconds"),
            (#"{"streams":[{"values":[["1.5","a"]]}]}"#, 24, "nanoseconds"),
            (#"{"streams":[{"values":[["9223372036854775808","a"]]}]}"#, 24, "nanoseconds"),
            (#"{"streams":[{"values":[["1",2]]}]}"#, 28, "string"),
            (#"{"streams":[{"values":[["1","a",[]]]}]}"#, 32, "object"),
            (#"{"streams":[{"values":[["1","a",{"b"}]]}]}"#, 36, "colon"),
        ]
    )
    func places(body: String, position: Int, reason: String) {
        let fault = refusal(try LokiPair().read(json: body))
        #expect(fault?.position == position && fault?.reason.contains(reason) == true, "\(fault!)")
    }

    @Test("Fields of another type are refused, unknown ones are passed")
    func types() {
        let decoders = LokiPair()
        // Each message, the fields around it, and its own fields' wire types.
        let messages: [(path: [UInt64], types: [UInt64: UInt64])] = [
            ([], [1: 2]), ([1], [1: 2, 2: 2]), ([1, 2], [1: 2, 2: 2, 3: 2]),
            ([1, 2, 1], [1: 0, 2: 0]), ([1, 2, 3], [1: 2, 2: 2]),
        ]
        for (path, types) in messages {
            for field in (1...5) as ClosedRange<UInt64> {
                for type in [0, 1, 2, 5] as [UInt64] {
                    // The content of a label is checked, too.
                    if path == [1], field == 1, type == 2 { continue }
                    var body = Wire.any(field, type: type)
                    for outer in path.reversed() { body = Wire.bytes(outer, body) }
                    let isRight = types[field] == nil || types[field] == type
                    // Nor is this a time.
                    let isInner = type == 2 && types[field] == 2 && (path.count < 2 || field == 1)
                    let fault = refusal(try decoders.read(body))
                    if !isInner { #expect((fault == nil) == isRight, "\(path) \(field) \(type)") }
                }
            }
        }
    }

    @Test(
        "Labels that cannot be read are refused at their place",
        arguments: [("{a=b}", 7), ("", 4), ("{a=\"b\"", 10)]
    )
    func labels(text: String, position: Int) {
        let push = Wire.bytes(1, Wire.bytes(1, Array(text.utf8)))
        let fault = refusal(try LokiPair().read(push))
        #expect(fault?.position == position, "\(fault!)")
    }

    @Test("Nanoseconds beyond a second are refused")
    func nanoseconds() {
        let time = Wire.number(1, 1_736_843_400) + Wire.number(2, 1_000_000_000)
        let push = Wire.bytes(1, Wire.bytes(2, Wire.bytes(1, time)))
        let fault = refusal(try LokiPair().read(push))
        #expect(fault?.reason == "nanos must lie between 0 and 999999999")
    }

    @Test("Too many streams are refused; of one stream there may be many pieces")
    func streams() {
        var limits = LogLimits()
        limits.streams = 3
        let decoders = LokiPair(limits)
        for count in [3, 4] {
            let streams = (0..<12).map {
                SamplePush.Stream(labels: [("a", "\($0 % count)")], entries: [.init(line: "x")])
            }
            let push = SamplePush(streams)
            let reason =
                "the request has more than 3 streams with different labels (limits.label_sets); send smaller batches"
            let expected = count == 3 ? nil : reason
            let fault = refusal(try decoders.read(push.protobuf()))
            #expect(fault?.reason == expected)
            let same = refusal(try decoders.read(json: push.json()))
            #expect(same?.reason == expected)
        }
    }

    @Test("Too many logs are refused, whatever streams they are in")
    func logs() {
        var limits = LogLimits()
        limits.logs = 3
        let decoders = LokiPair(limits)
        for count in [3, 4] {
            let streams = (0..<count).map {
                SamplePush.Stream(labels: [("a", "\($0)")], entries: [.init(line: "x")])
            }
            let push = SamplePush(streams)
            let taken = try? decoders.read(push)
            #expect(taken?.count == (count == 3 ? 3 : nil))
        }
    }

    @Test("The memory of a large label is given back, also after a refused push")
    func givesBackLabels() throws {
        let end = LokiPair()
        let large = String(repeating: "a", count: 1 << 20)
        _ = try end.read(SamplePush([("app", large)], "first").protobuf())
        #expect(end.protobuf.reader.labelCapacity <= RawMemory.keptBytes)
        let tail = Wire.bytes(1, Wire.bytes(1, Array("{app=\"\(large)".utf8)))
        #expect(throws: LogDecodingError.self) { try end.read(tail) }
        #expect(end.protobuf.reader.labelCapacity <= RawMemory.keptBytes)
    }

    @Test("A line that is too long is cut, and the log says so")
    func longLine() throws {
        let line = String(repeating: "a\"", count: 600_000)
        let stream = try #require(try LokiPair().read(SamplePush([("a", "1")], line, "b")).first)
        #expect(stream.logs.count == 2)
        #expect(stream.logs[0].fields[0] == ["__truncated__", "content"])
        #expect(stream.logs[0].fields[1][1].utf8.count == 1 << 20)
    }
}
