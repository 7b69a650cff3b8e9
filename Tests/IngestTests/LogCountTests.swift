import Configuration
import Crypto
import HTTP
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

/// How many logs a small body may hold.
@Suite(.timeLimit(.minutes(10))) struct LogCountTests {
    /// A request of OTLP with empty records. Protobuf fields: resource_logs, scope_logs,
    /// log_records.
    private func emptyRecords(_ count: Int) -> [UInt8] {
        let records = [UInt8]((0..<count).flatMap { _ in [0x12, 0] as [UInt8] })
        let scope = [0x12] + varint(records.count) + records
        return [0x0A] + varint(scope.count) + scope
    }

    private func varint(_ number: Int) -> [UInt8] {
        number < 128 ? [UInt8(number)] : [UInt8(number & 127 | 128)] + varint(number >> 7)
    }

    private func post(_ body: [UInt8], to end: DeviceListener, key: String = "") throws -> Int {
        let fields: KeyValuePairs = [
            "content-type": "application/x-protobuf", "content-encoding": "zstd",
            "x-sluice-key": key,
        ]
        return try end.client.post("/v1/logs", Zstd.compress(body), fields).status
    }

    @Test("A few bytes may hold 16,384 empty logs and not half a million")
    func inflated() throws {
        let end = try DeviceListener()
        #expect(try post(emptyRecords(16_384), to: end) == 200)
        for count in [16_385, 500_000] { #expect(try post(emptyRecords(count), to: end) == 413) }
        #expect(end.queue.stored.reduce(0) { $0 + $1.logs.count } == 16_384)
    }

    @Test(
        "A key's requests may have a million logs a minute beyond one for each byte",
        arguments: [false, true]
    )
    func budget(hasKey: Bool) throws {
        let clock = ManualClock()
        let end = try DeviceListener(clock: clock)
        let key = "0123456789abcdef"
        if hasKey { end.use([DeviceKey(name: "shop", secret: Secret(key))]) }
        let body = emptyRecords(16_384)
        let light = 16_384 - Zstd.compress(body).count
        let senders = end.shared.door.access.value.keys.senders
        let counter = hasKey ? try #require(senders.first).counter : end.shared.keyless
        try counter.takeLight(1_000_000 - light, .otlp, at: clock.moment)
        #expect(try post(body, to: end, key: key) == 200)
        #expect(try post(body, to: end, key: key) == 429)
        #expect(try post(emptyRecords(1), to: end, key: key) == 200)
        #expect(counter.refused.counts[.logs] == 1)
        clock.advance(.seconds(1))
        #expect(try post(body, to: end, key: key) == 200)
    }

    @Test("Logs that a split makes count, too")
    func split() throws {
        let filters = "filters: [{ steps: [{ split: { field: items } }] }]\n"
        let end = try DeviceListener(
            filters + DeviceListener.twoDestinations,
            clock: ManualClock()
        )
        try end.shared.keyless.takeLight(999_900, .logs, at: end.shared.clock())
        let items = Array(repeating: "1", count: 1000).joined(separator: ",")
        let body = Zstd.compress(Array(#"{"items":[\#(items)]}"#.utf8))
        let coding: KeyValuePairs = ["content-encoding": "zstd"]
        #expect(try end.client.post("/logs/app", body, coding).status == 429)
        #expect(end.queue.stored.isEmpty)
    }

    @Test("Logs that are as short as their dialect allows are taken in any number")
    func sent() throws {
        let end = try DeviceListener()
        let lines = [UInt8]((0..<10_000).flatMap { _ in Array("x\n".utf8) })
        #expect(try end.client.post("/logs/app?format=lines", lines).status == 200)
        #expect(end.queue.stored.reduce(0) { $0 + $1.logs.count } == 10_000)
    }
}

/// Requests whose logs have more different labels than there may be streams of one request.
@Suite(.timeLimit(.minutes(10))) struct ManyStreamsTests {
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

    @Test("Labels of what is beyond become fields, and no log is refused for them")
    func labels() throws {
        let end = try DeviceListener { $0.json.batches = 2 }
        let body = push((0..<4).map { #""app":"a","pod":"\#($0)""# })
        #expect(try end.client.post(Self.path, body.utf8, Self.json).status == 204)
        #expect(end.queue.stored.map(\.logs.count) == [1, 1, 2])
        #expect(end.queue.stored.map(\.stream.trailer.tags.count) == [3, 3, 1])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["a", "a", "a"])
        #expect(
            try #require(end.queue.stored.last).fields() == [
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
            try end.queue.stored[0].fields().map { $0[1] }
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
                try #require(end.queue.stored.last).fields() == [
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
