import Logs
import Queue
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct DeviceTagTests {
    private let body =
        #"{"__topic__":"t","__source__":"s","__logs__":[{"k":"1"},{"k":"2"},{"__time__":5}],"#
        + #""__tags__":{"__pack_id__":"ABC-1","device_id":"d7","os":"17","env":"mine"}}"#

    private func batch(_ keys: String, _ body: String? = nil) throws -> Batch {
        let end = try DeviceListener(DeviceListener.destination(keys))
        let answer = try end.client.post("/logstores/xx/track", (body ?? self.body).utf8)
        return try #require(end.queue.stored.first, "\(answer.text)")
    }

    @Test("Folded tags are fields of every log; what the operator says stays a tag")
    func all() throws {
        let batch = try batch("fold_tags: all\n    late_logs: dead_letter")
        #expect(batch.tags == ["env=prod"])
        #expect(batch.stream.trailer.topic == "t")
        #expect(batch.stream.trailer.source == "s")
        let folded = ["__tag__:device_id=d7", "__tag__:os=17"]
        #expect(try batch.logs.fields() == [folded + ["k=1"], folded + ["k=2"]])
        #expect(try batch.dead[0].logs.fields() == [folded])
    }

    @Test("Tags are folded by name, and the others keep devices apart")
    func named() throws {
        let batch = try batch("fold_tags: [device_id, nothing]")
        #expect(batch.tags == ["os=17", "env=prod"])
        #expect(try batch.logs.fields()[0] == ["__tag__:device_id=d7", "k=1"])
    }

    @Test("A pack id is gone unless it is to stay")
    func packID() throws {
        #expect(try batch("topic: x").tags == ["device_id=d7", "os=17", "env=prod"])
        #expect(
            try batch("keep_pack_id: true").tags == [
                "__pack_id__=ABC-1", "device_id=d7", "os=17", "env=prod",
            ]
        )
    }

    @Test("Devices that differ in folded tags share a stream")
    func shared() throws {
        let end = try DeviceListener(DeviceListener.destination("fold_tags: all"))
        for device in 0..<5 {
            let body =
                #"{"__logs__":[{"k":"1"}],"__tags__":{"device":"\#(device)","__pack_id__":"\#(device)-0"}}"#
            #expect(try end.client.post("/logstores/xx/track", body.utf8).status == 200)
        }
        #expect(Set(end.queue.stored.map(\.stream)).count == 1)
    }

    private func tracked(_ tags: [(String, String)], _ logs: String) -> String {
        let members = tags.map { #""\#($0.0)":"\#($0.1)""# }.joined(separator: ",")
        return #"{"__logs__":[\#(logs)],"__tags__":{\#(members)}}"#
    }

    @Test("Tags that a stream has no room for are fields of every log")
    func crowded() throws {
        let many = (0..<130).map { ("t\($0)", "\($0)") }
        let batch = try batch("topic: x", tracked(many, #"{"k":"1"},{"k":"2"}"#))
        #expect(batch.tags == many.prefix(128).map { "\($0.0)=\($0.1)" } + ["env=prod"])
        let more = ["__tag__:t128=128", "__tag__:t129=129"]
        #expect(try batch.logs.fields() == [more + ["k=1"], more + ["k=2"]])
        let large = String(repeating: "l", count: 8192)
        let heavy = try self.batch(
            "topic: x",
            tracked([("a", large), ("b", "2"), ("__pack_id__", "P-1")], #"{"__tag__:a":"mine"}"#)
        )
        #expect(heavy.tags == ["b=2", "env=prod"])
        #expect(try heavy.logs.fields() == [["__tag__:a=\(large)"]])
    }

    @Test("Where every log would be too much, the first one has such tags and the others say so")
    func crowdedFirst() throws {
        let large = String(repeating: "l", count: 9000)
        let logs = [String](repeating: "{}", count: 20_000).joined(separator: ",")
        let body = tracked([("a", large), ("b", "2")], logs)
        for keys in ["topic: x", "fold_tags: all"] {
            let batch = try batch(keys, body)
            #expect(batch.tags == ["b=2", "__truncated__=a", "env=prod"])
            let fields = try batch.logs.fields()
            #expect(fields.count == 20_000)
            #expect(fields[0] == ["__tag__:a=\(large)"])
            #expect(fields[1...].allSatisfy { $0.isEmpty })
        }
    }

    @Test("What a few compressed bytes repeat is bounded by what was sent")
    func inflated() throws {
        let logs = [String](repeating: "{}", count: 2500).joined(separator: ",")
        let body = tracked([("a", String(repeating: "t", count: 8000))], logs)
        let end = try DeviceListener(DeviceListener.destination("fold_tags: all"))
        let answer = try end.client.post(
            "/logstores/xx/track",
            Zstd.compress(Array(body.utf8)),
            ["x-log-compresstype": "zstd", "x-log-bodyrawsize": "\(body.utf8.count)"]
        )
        #expect(answer.status == 200, "\(answer.text)")
        let batch = try #require(end.queue.stored.first)
        #expect(batch.logs.count == 2500 && batch.logs.bytes.count < 2 << 20)
        #expect(batch.tags.count == 2)
    }

    @Test("Tags that would multiply a body stay tags")
    func multiplied() throws {
        let logs = [String](repeating: "{}", count: 100_000).joined(separator: ",")
        let tag = String(repeating: "t", count: 4000)
        let batch = try batch(
            "fold_tags: all",
            #"{"__logs__":[\#(logs)],"__tags__":{"a":"\#(tag)"}}"#
        )
        #expect(batch.logs.count == 100_000)
        #expect(batch.logs.bytes.count < 2 << 20)
        #expect(batch.tags.count == 2)
    }

    @Test(
        "A destination's source may have the client's address, and a device's own comes first",
        arguments: [
            ("iOS", "iOS"), ("{{client_ip}}", "127.0.0.1"),
            ("app {{client_ip}}!", "app 127.0.0.1!"),
        ]
    )
    func sources(source: String, expected: String) throws {
        let end = try DeviceListener(DeviceListener.destination("source: \"\(source)\""))
        let requests = [
            ("/logs/xyz", #"{"a":1}"#), ("/logs/xyz?source=own", #"{"a":1}"#),
            (BadRequest.track, #"{"__topic__":"t","__logs__":[{"a":"1"}]}"#),
            (BadRequest.track, #"{"__source__":"own","__logs__":[{"a":"1"}]}"#),
        ]
        for (path, body) in requests {
            #expect(try end.client.post(path, body.utf8).status == 200)
        }
        let found = end.queue.stored.map(\.stream.trailer.source)
        #expect(found == [expected, "own", expected, "own"])
    }

    @Test("Topic and tags stay when the source gets the address")
    func others() throws {
        let end = try DeviceListener(DeviceListener.destination(#"source: "{{client_ip}}""#))
        let track = #"{"__topic__":"t","__tags__":{"k":"v"},"__logs__":[{"a":"1"}]}"#
        #expect(try end.client.post(BadRequest.track, track.utf8).status == 200)
        let trailer = try #require(end.queue.stored.first?.stream.trailer)
        #expect(trailer.topic == "t")
        #expect(trailer.tags.map { "\($0.key)=\($0.value)" } == ["k=v", "env=prod"])
    }
}
