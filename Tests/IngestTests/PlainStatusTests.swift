import Queue
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(1))) struct PlainStatusTests {
    @Test(
        "/logs answers with the configured status, or with the one that the request names",
        arguments: [
            ("", "", 200), ("", "?status=201", 201), ("devices: { plain_status: 201 }", "", 201),
            ("devices: { plain_status: 201 }", "?status=200", 200),
        ]
    )
    func status(devices: String, query: String, status: Int) throws {
        let end = try DeviceListener(DeviceListener.twoDestinations + "\n" + devices)
        let fields: KeyValuePairs = ["idempotency-key": "one"]
        let first = try end.client.post("/logs/x\(query)", #"{"a":1}"#.utf8, fields)
        #expect(first.status == status, "\(first.text)")
        let receipt = Array(try #require(first["x-log-requestid"]).utf8)
        end.queue.outcome.withLock { $0 = .repeated(receipt: receipt, logs: 1) }
        let again = try end.client.post("/logs/x\(query)", #"{"a":1}"#.utf8, fields)
        #expect(again.status == status)
        #expect(again.text == first.text, "the repetition has the first answer")
        #expect(end.queue.stored.count == 1)
        // A refusal keeps its own status, and other paths keep theirs.
        #expect(try end.client.post("/logs/x\(query)", "{".utf8).status == 400)
        #expect(try end.client.post(BadRequest.track, #"{"__logs__":[]}"#.utf8).status == 200)
    }

    @Test("Another status in the query is refused")
    func unknown() throws {
        let end = try DeviceListener()
        let answer = try end.client.post("/logs/x?status=202", #"{"a":1}"#.utf8)
        #expect(answer.status == 400)
        #expect(answer.text.contains("status is neither 200 nor 201"))
        #expect(end.queue.stored.isEmpty)
    }
}
