import Testing

@testable import Logs

@Suite struct LokiLabelTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    /// Texts that Swift calls equal are different here.
    private func bytes(_ labels: [(key: String, value: String)]) -> [[UInt8]] {
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
                bytes(streams[0].tags) == [Array(Self.decomposed.utf8), Array(Self.composed.utf8)]
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
        #expect(bytes(streams[0].tags) == sorted)
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
            let fault = fault { () throws(LogDecodingError) in try decoders.read(push.protobuf()) }
            #expect(fault?.reason == expected)
            let same = self.fault { () throws(LogDecodingError) in
                try decoders.read(json: push.json())
            }
            #expect(same?.reason == expected)
        }
    }

    private func fault(_ read: () throws(LogDecodingError) -> [TrackedLogs]) -> LogDecodingError? {
        do throws(LogDecodingError) {
            _ = try read()
            return nil
        } catch {
            return error
        }
    }
}
