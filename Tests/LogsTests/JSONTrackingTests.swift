import Testing

@testable import Logs

@Suite struct JSONTrackingTests {
    let decoder = JSONLogDecoder()

    @Test("The example of SLS's documentation")
    func example() throws {
        let tracked = try decoder.tracking(
            """
            {"__topic__":"app","__source__":"iOS","__logs__":[{"level":"info","msg":"hi"}],\
            "__tags__":{"env":"prod"}}
            """
        )
        #expect(tracked.topic == "app")
        #expect(tracked.source == "iOS")
        #expect(tracked.tags.map { [$0.key, $0.value] } == [["env", "prod"]])
        #expect(try tracked.logs.sound.read() == [Read([["level", "info"], ["msg", "hi"]])])
    }

    @Test("A log of the iOS SDK keeps the device's time")
    func phone() throws {
        let tracked = try decoder.tracking(
            """
            {"__source__":"iOS","__logs__":[{"__time__":1736840000,"a":"\\u001f"},\
            {"__time__":"1736840001","b":"2"}],"__tags__":{"__pack_id__":"5D2D1E0A5CDB4E36-0"}}
            """
        )
        #expect(tracked.topic == nil)
        let logs = try tracked.logs.sound.read()
        #expect(logs.map(\.seconds) == [1_736_840_000, 1_736_840_001])
        #expect(logs.map(\.fields) == [[["a", "\u{1f}"]], [["b", "2"]]])
    }

    @Test("Members may come in any order, unknown ones are ignored, and values may be of any kind")
    func lenient() throws {
        let tracked = try decoder.tracking(
            """
             { "x" : { "y" : [ 1 ] } , "__tags__" : { "n" : 1.50 , "t" : true , "o" : { "a" : [ ] } ,
             "z" : null , "n" : "2" } , "__logs__" : [ { "n" : -0 , "v" : [ 1 , 2 ] , "e" : null } ] ,
             "__topic__" : 12 , "y" : 1e999 , "__source__" : null , "q" : "\\u4e16" }
            """
        )
        #expect(tracked.topic == "12")
        #expect(tracked.source == nil)
        let tags = [["n", "2"], ["t", "true"], ["o", #"{"a":[]}"#], ["z", ""]]
        #expect(tracked.tags.map { [$0.key, $0.value] } == tags)
        #expect(
            try tracked.logs.sound.read() == [Read([["n", "-0"], ["v", "[1,2]"], ["e", ""]])]
        )
    }

    @Test("Logs may be none, as when a page is closed")
    func noLogs() throws {
        let tracked = try decoder.tracking("{\"__logs__\":[],\"__tags__\":null}")
        #expect(tracked.logs == DecodedLogs())
        #expect(tracked.tags.isEmpty)
    }

    @Test("Reserved names do not become fields; an unreadable time is kept as one")
    func reserved() throws {
        let tracked = try decoder.tracking(
            """
            {"__logs__":[{"__topic__":"t","__source__":"s","__partition_time__":1,\
            "_extract_others_":2,"__extract_others__":3,"__time__":"today","__tag__:x":"y"}]}
            """
        )
        let fields = [
            ["field__topic__", "t"], ["field__source__", "s"], ["field__partition_time__", "1"],
            ["field_extract_others_", "2"], ["field__extract_others__", "3"],
            ["__original_time__", "today"], ["__tag__:x", "y"],
        ]
        #expect(try tracked.logs.sound.read() == [Read(fields)])
    }

    @Test("Reserved names of tags become ordinary ones too, and then come once")
    func reservedTags() throws {
        let tracked = try decoder.tracking(
            """
            {"__logs__":[],"__tags__":{"__source__":"s","__topic__":"t","__time__":1,\
            "__partition_time__":2,"_extract_others_":3,"__extract_others__":4,\
            "__pack_id__":"p","field__source__":"again"}}
            """
        )
        let tags = [
            ["field__source__", "again"], ["field__topic__", "t"], ["__original_time__", "1"],
            ["field__partition_time__", "2"], ["field_extract_others_", "3"],
            ["field__extract_others__", "4"], ["__pack_id__", "p"],
        ]
        #expect(tracked.tags.map { [$0.key, $0.value] } == tags)
    }

    static let long = String(repeating: "t", count: 129)
    private static func tracking(_ mistake: TrackingMistake) -> JSONFault.Reason {
        .format(mistake)
    }

    static let mistakes: [(body: String, position: Int, reason: JSONFault.Reason)] = [
        ("", 0, .empty), ("[]", 0, tracking(.objectExpected)),
        ("\"a\"", 0, tracking(.objectExpected)),
        ("{}", 0, tracking(.logsMissing)), ("{\"__topic__\":\"a\"}", 0, tracking(.logsMissing)),
        ("{\"__logs__\":null}", 12, tracking(.logsNotArray)),
        ("{\"__logs__\":{}}", 12, tracking(.logsNotArray)),
        ("{\"__logs__\":[1]}", 13, .logExpected), ("{\"__logs__\":[[]]}", 13, .logExpected),
        ("{\"__logs__\":[],\"__logs__\":[]}", 26, tracking(.logsRepeated)),
        ("{\"__logs__\":[]}{}", 15, .textFollows), ("{\"__logs__\":[]", 14, .unfinished),
        ("{\"__logs__\":[],", 15, .unfinished), ("{\"__logs__\":[],}", 15, .keyExpected),
        ("{\"__logs__\":", 12, .unfinished), ("{\"__logs__\"}", 11, .colonExpected),
        ("{\"__logs__\":}", 12, tracking(.logsNotArray)), ("{", 1, .unfinished),
        ("{\"a\"", 4, .unfinished),
        ("{\"a\":1", 6, .unfinished), ("{\"a\":}", 5, .valueExpected),
        ("{\"a\":[1", 7, .unfinished),
        ("{\"a\":01,\"__logs__\":[]}", 5, .badNumber), ("{\"a\":1 2}", 7, .objectEndExpected),
        ("{\"a\":[\"\\x\"]}", 7, .badEscape), ("{\"__tags__\":[]}", 12, tracking(.tagsNotObject)),
        ("{\"__tags__\":\"a\"}", 12, tracking(.tagsNotObject)),
        ("{\"__tags__\":{\"a\":1},\"__tags__\":{}}", 31, tracking(.tagsRepeated)),
        ("{\"__tags__\":nul}", 12, .badLiteral),
        ("{\"__tags__\":{\"a\":1]}", 18, .objectEndExpected),
        ("{\"__topic__\":\"\(long)\"}", 13, tracking(.topicTooLong(128))),
        ("{\"__source__\":\"\(long)\"}", 14, tracking(.sourceTooLong(128))),
    ]

    @Test(
        "A body that is not a tracking request is refused with the place",
        arguments: mistakes.indices
    )
    func mistake(index: Int) {
        let (body, position, reason) = Self.mistakes[index]
        #expect(
            throws: LogDecodingError(position: position, reason: reason.sentence),
            "\(body)"
        ) { try decoder.tracking(body) }
    }

    @Test("Topics and sources of 128 bytes are taken")
    func longest() throws {
        let text = String(repeating: "t", count: 128)
        let tracked = try decoder.tracking(
            "{\"__topic__\":\"\(text)\",\"__source__\":\"\(text)\",\"__logs__\":[]}"
        )
        #expect(tracked.topic == text)
        #expect(tracked.source == text)
    }

    @Test("No tag is a reason to refuse logs")
    func odd() throws {
        let long = String(repeating: "t", count: 129)
        let value = String(repeating: "v", count: 9000)
        let tracked = try decoder.tracking(
            #"{"__logs__":[{}],"__tags__":{"":"e","\#(long)":1,"large":"\#(value)"}}"#
        )
        let stored = storableName(long, bytesMax: 128)
        #expect(
            tracked.tags.map { [$0.key, $0.value] } == [
                ["__empty__", "e"], [stored, "1"], ["large", value], ["__truncated__", stored],
            ]
        )
    }
}
