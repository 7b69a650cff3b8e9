import Ingest
import Queue
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct RepeatTests {
    private let packet = #"{"__logs__":[{"k":"1"}],"__tags__":{"__pack_id__":"ABC-1"}}"#

    /// The identity of each request, in order.
    private func digests(
        _ requests: [(path: String, body: String, key: String?)],
        _ configuration: String = DeviceListener.twoDestinations
    ) throws -> [[UInt8]?] {
        let end = try DeviceListener(configuration)
        for (path, body, key) in requests {
            let answer =
                if let key {
                    try end.client.post(path, body.utf8, ["idempotency-key": key])
                } else {
                    try end.client.post(path, body.utf8)
                }
            #expect(answer.status == 200, "\(answer.text)")
            let identity = end.queue.identities.last ?? nil
            #expect(
                identity.map { String(decoding: $0.receipt, as: UTF8.self) }
                    == (identity == nil ? nil : answer["x-log-requestid"])
            )
        }
        return end.queue.identities.map { $0?.digest }
    }

    @Test("A key makes the same request only with the same place and body")
    func key() throws {
        let found = try digests([
            ("/logs/a", #"{"n":1}"#, "one"), ("/logs/a", #"{"n":1}"#, "one"),
            ("/logs/a", #"{"n":2}"#, "one"),
            ("/logs/b", #"{"n":1}"#, "one"), ("/logs/a", #"{"n":1}"#, "two"),
            ("/logstores/app-log/track", packet, "one"), ("/logs/a", #"{"n":1}"#, nil),
        ])
        #expect(found[0]?.count == 16)
        #expect(found[0] == found[1])
        #expect(Set(found.dropFirst()).count == 6)
        #expect(found[6] == nil)
    }

    @Test("A packet of an SDK is the same only with the same pack id, place and content")
    func pack() throws {
        let other = packet.replacing("1\"}]", with: "2\"}]")
        let found = try digests(
            [
                ("/logstores/aa/track", packet, nil), ("/logstores/aa/track", packet, nil),
                ("/logstores/bb/track", packet, nil), ("/logstores/aa/track", other, nil),
                ("/logstores/aa/track", packet.replacing("ABC-1", with: "ABC-2"), nil),
                ("/logstores/aa/track", #"{"__logs__":[{"k":"1"}]}"#, nil),
            ],
            DeviceListener.destination("fold_tags: all")
        )
        #expect(found[0] != nil && found[0] == found[1])
        #expect(Set(found[1...4]).count == 4)
        #expect(found[5] == nil)
    }

    @Test("A repetition is answered as the first request was")
    func answered() throws {
        let end = try DeviceListener()
        let first = Array("0123456789ABCDEF01234567".utf8)
        end.queue.outcome.withLock { $0 = .repeated(receipt: first, logs: 7) }
        let plain = try end.client.post("/logs/x", #"{"a":1}"#.utf8, ["idempotency-key": "k"])
        #expect(plain.status == 200)
        #expect(plain["x-log-requestid"] == "0123456789ABCDEF01234567")
        #expect(plain.text == #"{"receipt":"0123456789ABCDEF01234567","count":7}"# + "\n")
        let track = try end.client.post("/logstores/app-log/track", packet.utf8)
        #expect(track.status == 200)
        #expect(track["x-log-requestid"] == "0123456789ABCDEF01234567")
        let counts = end.shared.counters.accepted.filter { ["logs", "track"].contains($0.route) }
        #expect(counts.count == 2)
        for count in counts {
            #expect(count.counts == [.repeated: 1])
            #expect(count.acknowledgements.count == 1)
        }
    }

    @Test(
        "A key that is none is refused",
        arguments: ["", "with space", "caf\u{e9}", String(repeating: "k", count: 256)]
    )
    func badKey(key: String) throws {
        let end = try DeviceListener()
        let answer = try end.client.post("/logs/x", #"{"a":1}"#.utf8, ["Idempotency-Key": key])
        #expect(answer.status == 400)
        #expect(answer.text.contains("Idempotency-Key"))
        let longest = String(repeating: "~", count: 255)
        #expect(
            try end.client.post("/logs/x", #"{"a":1}"#.utf8, ["Idempotency-Key": longest]).status
                == 200
        )
    }

    @Test("Where repetitions are not recognised, nothing is remembered")
    func off() throws {
        let end = try DeviceListener(recognizesRepeats: false)
        _ = try end.client.post("/logs/x", #"{"a":1}"#.utf8, ["idempotency-key": "k"])
        _ = try end.client.post("/logstores/app-log/track", packet.utf8)
        #expect(end.queue.identities.count == 2)
        #expect(end.queue.identities.allSatisfy { $0 == nil })
    }
}
