import Configuration
import HTTP
import Ingest
import Logs
import Queue
import TestSupport
import Testing

/// `DeviceHandler.costIfLarge`: requests whose content may exceed a mebibyte go to a worker thread.
@Suite(.timeLimit(.minutes(1))) struct LargeBodyTests {
    struct Body: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var path = "/logstores/app-log"
        var bytes: Int
        var fields: [(String, String)] = []
        let isLarge: Bool
    }

    private static let protobuf = ("content-type", "application/x-protobuf")
    private static let lz4 = ("x-log-compresstype", "lz4")
    private static let bodies = [
        Body(testDescription: "a mebibyte", bytes: 1 << 20, isLarge: false),
        Body(testDescription: "a byte more", bytes: 1 << 20 + 1, isLarge: true),
        Body(
            testDescription: "compressed, too short for a mebibyte",
            bytes: 5242,
            fields: [("content-encoding", "gzip")],
            isLarge: false
        ),
        Body(
            testDescription: "compressed, and nobody says what is in it",
            bytes: 5243,
            fields: [("content-encoding", "gzip")],
            isLarge: true
        ),
        Body(
            testDescription: "not compressed",
            bytes: 500_000,
            fields: [("content-encoding", "identity"), ("x-log-compresstype", "none")],
            isLarge: false
        ),
        Body(
            testDescription: "compressed, and its head says that it is small",
            bytes: 500_000,
            fields: [lz4, ("x-log-bodyrawsize", "1048576")],
            isLarge: false
        ),
        Body(
            testDescription: "compressed, and its head says that it is large",
            bytes: 500_000,
            fields: [lz4, ("x-log-bodyrawsize", "1048577")],
            isLarge: true
        ),
        Body(
            testDescription: "compressed in an unknown way",
            bytes: 500_000,
            fields: [("content-encoding", "br")],
            isLarge: false
        ),
        Body(
            testDescription: "packages, each compressed",
            bytes: 6000,
            fields: [protobuf, ("x-log-mode", "batch_group")],
            isLarge: true
        ),
        Body(
            testDescription: "compressed by the rules of its dialect",
            path: "/loki/api/v1/push",
            bytes: 6000,
            fields: [protobuf],
            isLarge: true
        ),
    ]

    @Test("The head decides which requests are large", arguments: bodies)
    func rule(body: Body) throws {
        let end = try DeviceListener()
        let fields = body.fields.map { "\($0): \($1)\r\n" }.joined()
        let head =
            "POST \(body.path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(fields)"
            + "Content-Length: \(body.bytes)\r\n\r\n"
        let blanks = [UInt8](repeating: 0x20, count: body.bytes)
        _ = try end.client.exchange(Array(head.utf8) + blanks)
        #expect(end.server.counters.largeRequests.started == (body.isLarge ? 1 : 0))
    }

    @Test("Logs of a large body are stored, and its budget is free again")
    func stored() throws {
        let end = try DeviceListener()
        let log = #"{"text":"\#(String(repeating: "x", count: 1000))"}"#
        let body = "[\(Array(repeating: log, count: 2000).joined(separator: ","))]"
        let answer = try end.client.post("/logs/app", Array(body.utf8))
        #expect(answer.status == 200)
        #expect(end.queue.stored.reduce(0) { $0 + $1.logs.count } == 2000)
        #expect(end.server.counters.largeRequests.started == 1)
        #expect(end.server.counters.held.bodies == 0)
    }

    @Test("A large request that is named is recognized when it comes again")
    func named() throws {
        let end = try DeviceListener()
        let body = Array(#"[{"a":1}]"#.utf8) + [UInt8](repeating: 0x20, count: 2 << 20)
        for _ in 0..<2 {
            let answer = try end.client.post("/logs/app", body, ["idempotency-key": "one"])
            #expect(answer.status == 200)
        }
        #expect(end.queue.identities.count == 2)
        #expect(end.queue.identities[0] != nil)
        #expect(end.queue.identities[0]?.digest == end.queue.identities[1]?.digest)
    }

    @Test("A worker's first request after a reload goes by the new keys and dialects")
    func reloaded() throws {
        let end = try DeviceListener("devices: { accept: json }\n\(DeviceListener.twoDestinations)")
        let blank = [UInt8](repeating: 0x20, count: 2 << 20)
        #expect(try end.client.post("/logs/app", Array("[]".utf8) + blank).status == 200)
        end.shared.door.replace(DeviceSettings())
        let event = Array(#"{"event":1}"#.utf8)
        let answer = try end.client.post("/services/collector", event + blank)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.server.counters.largeRequests.started == 2)
    }
}
