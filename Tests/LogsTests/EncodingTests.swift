import Testing

@testable import Logs

@Suite struct EncodingTests {
    @Test("The smallest log equals that of Alibaba's encoder")
    func minimal() {
        var logs = EncodedLogs()
        logs.append(time: LogTime(seconds: 1_736_843_400), fields: [("k", "v")])
        #expect(logs.bytes == bytes(hex: "0a0e0888c198bc0612060a016b120176"))
        #expect(logs.count == 1)
    }

    @Test("A group with everything in it is byte for byte that of Alibaba's SDK")
    func reference() {
        var logs = EncodedLogs()
        logs.append(
            time: LogTime(seconds: 1_736_843_400),
            fields: [("level", "info"), ("msg", "héllo 世界")]
        )
        logs.append(
            time: LogTime(seconds: 1_736_843_401, nanoseconds: 123_456_789),
            fields: [("empty", "")]
        )
        let trailer = GroupTrailer(
            topic: "app",
            source: "10.0.0.1",
            tags: [("__pack_id__", "5D2D1E0A5CDB4E36-0"), ("env", "prod")]
        )
        #expect(logs.bytes + trailer.bytes == referenceGroup)
        #expect(referenceGroup.count == 132)
    }

    @Test("JSON becomes the same bytes")
    func referenceFromJSON() throws {
        let body = """
            {"level":"info","msg":"h\\u00e9llo 世界"}
            {"empty":"","__time__":1736843401.123456789}
            """
        let logs = try JSONLogDecoder().plain(Array(body.utf8))
        #expect(logs.bytes == Array(referenceGroup[..<logs.bytes.count]))
        #expect(logs.bytes.count == 69)
    }

    @Test("A trailer can be read back into topic, source and tags")
    func trailer() {
        let tags = [("env", "prod"), ("empty", ""), ("city", "杭州")]
        let trailer = GroupTrailer(topic: "app", source: "phone", tags: tags)
        #expect(trailer.topic == "app")
        #expect(trailer.source == "phone")
        #expect(trailer.tags.map(\.key) == tags.map(\.0))
        #expect(trailer.tags.map(\.value) == tags.map(\.1))
        #expect(GroupTrailer().bytes.isEmpty)
        #expect(GroupTrailer().topic.isEmpty)
    }

    @Test("A packet's id is one more tag behind the others")
    func packID() {
        let trailer = GroupTrailer(topic: "app", tags: [("env", "prod")])
        let whole = GroupTrailer(bytes: trailer.bytes(packID: "5D2D1E0A5CDB4E36-0"))
        #expect(whole.tags.map(\.key) == ["env", "__pack_id__"])
        #expect(whole.tags.last?.value == "5D2D1E0A5CDB4E36-0")
        #expect(whole.topic == "app")
    }

    @Test("A damaged trailer shows its readable part")
    func damagedTrailer() {
        let trailer = GroupTrailer(topic: "app", source: "phone", tags: [("environment", "prod")])
        for cut in trailer.bytes.indices {
            let damaged = GroupTrailer(bytes: Array(trailer.bytes.prefix(cut)))
            #expect(["", "app"].contains(damaged.topic))
            #expect(["", "phone"].contains(damaged.source))
            #expect(damaged.tags.isEmpty)
        }
    }

    @Test("Reserved names are stored with a prefix", arguments: ["__topic__", "_extract_others_"])
    func reserved(name: String) throws {
        var logs = EncodedLogs()
        logs.append(time: LogTime(seconds: arrivalSeconds), fields: [(name, "v")])
        #expect(try logs.read() == [Read([["field" + name, "v"]])])
    }
}
