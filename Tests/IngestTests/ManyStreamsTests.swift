import Configuration
import HTTP
import Logs
import Queue
import System
import TestSupport
import Testing

/// Requests whose logs have more different labels than there may be streams of one request.
@Suite(.timeLimit(.minutes(1))) struct ManyStreamsTests {
    private static let json = ["content-type": "application/json"] as KeyValuePairs
    private static let path = "/loki/api/v1/push"

    /// A stream with one line for each set of labels.
    private func push(_ labels: [String]) -> String {
        let now = WallTime.now.seconds - 60
        let streams = labels.map {
            #"{"stream":{\#($0)},"values":[["\#(now)000000000","x"]]}"#
        }
        return #"{"streams":[\#(streams.joined(separator: ","))]}"#
    }

    private func fields(_ batch: Batch?) throws -> [[String]] {
        try #require(batch).entries().map { $0.fields.map { "\($0.key)=\($0.value)" } }
    }

    @Test("Labels of what is beyond become fields, and no log is refused for them")
    func labels() throws {
        let end = try DeviceListener { $0.json.batches = 2 }
        let body = push((0..<4).map { #""app":"a","pod":"\#($0)""# })
        #expect(try end.client.post(Self.path, body.utf8, Self.json).status == 204)
        #expect(end.queue.stored.map(\.logs.count) == [1, 1, 2])
        #expect(end.queue.stored.map(\.stream.trailer.tags.count) == [3, 3, 1])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["a", "a", "a"])
        #expect(
            try fields(end.queue.stored.last) == [
                ["__tag__:app=a", "__tag__:pod=2", "content=x"],
                ["__tag__:app=a", "__tag__:pod=3", "content=x"],
            ]
        )
    }

    @Test("More labels than streams are taken by default too")
    func fleet() throws {
        let end = try DeviceListener()
        let body = push((0..<1100).map { #""app":"a","pod":"\#($0)""# })
        #expect(try end.client.post(Self.path, body.utf8, Self.json).status == 204)
        #expect(end.queue.stored.count == 1025)
        #expect(end.queue.stored.last?.logs.count == 76)
    }

    @Test("What folding leaves alike is one batch")
    func joined() throws {
        let end = try DeviceListener(DeviceListener.destination("fold_tags: all"))
        let body = push((0..<3).map { #""app":"a","pod":"\#($0)""# })
        #expect(try end.client.post(Self.path, body.utf8, Self.json).status == 204)
        #expect(end.queue.stored.map(\.logs.count) == [3])
        #expect(
            try fields(end.queue.stored[0]).map { $0[1] }
                == ["pod=0", "pod=1", "pod=2"].map { "__tag__:" + $0 }
        )
    }

    @Test("Hosts and sources of Splunk's events become fields as well")
    func splunk() throws {
        for member in ["host", "source"] {
            let end = try DeviceListener { $0.json.batches = 2 }
            let body = (0..<4).map { #"{"event":"x","\#(member)":"\#($0)"}"# }.joined()
            #expect(try end.client.post("/services/collector", body.utf8).status == 200)
            #expect(end.queue.stored.map(\.logs.count) == [1, 1, 2], "\(member)")
            #expect(
                try fields(end.queue.stored.last) == [
                    ["__tag__:\(member)=2", "message=x"], ["__tag__:\(member)=3", "message=x"],
                ]
            )
        }
    }

    @Test("What differs in its topic cannot be folded, and is bounded")
    func topics() throws {
        let end = try DeviceListener { $0.json.batches = 1 }
        let two = push([#""app":"a""#, #""app":"b""#])
        #expect(try end.client.post(Self.path, two.utf8, Self.json).status == 204)
        #expect(end.queue.stored.count == 2)
        let three = push([#""app":"a""#, #""app":"b""#, #""app":"c""#])
        let answer = try end.client.post(Self.path, three.utf8, Self.json)
        #expect(answer.status == 413)
        #expect(answer.text.contains("differ in topic, source or tags more than 2 times"))
        #expect(end.queue.stored.count == 2)
    }
}
