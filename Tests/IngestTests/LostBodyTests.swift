import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(1))) struct LostBodyTests {
    private static let paths = [
        "/logs/x", BadRequest.track, "/logstores/app-log/shards/lb", "/v1/logs", "/_bulk",
        "/app/_doc", "/loki/api/v1/push", "/services/collector",
    ]

    @Test("An empty body whose head describes content is told from a bad one", arguments: paths)
    func lost(path: String) throws {
        let end = try DeviceListener()
        let marks = [
            ("x-log-bodyrawsize", "120"), ("x-log-compresstype", "lz4"),
            ("content-encoding", "gzip"),
        ]
        for (name, value) in marks {
            let answer = try end.client.send(
                "POST",
                path,
                [UInt8](),
                ["content-type": "application/json", name: value]
            )
            #expect(answer.status == 400, "\(name): \(answer.text)")
            #expect(answer.text.contains("httpBodyStream"), "\(name): \(answer.text)")
            if path.hasPrefix("/logstores/") { #expect(answer.body.count <= 255) }
        }
        let counted = end.shared.counters.refused.filter { $0.kind.code == "PostBodyLost" }
        #expect(counted.map(\.count) == [marks.count])
        #expect(end.queue.stored.isEmpty)
    }

    @Test(
        "An empty body whose head describes none is not called lost",
        arguments: ["0", "", "none", "identity"],
        paths
    )
    func empty(value: String, path: String) throws {
        let end = try DeviceListener()
        let name =
            switch value {
            case "0": "x-log-bodyrawsize"
            case "none": "x-log-compresstype"
            default: "content-encoding"
            }
        let answer = try end.client.send("POST", path, [UInt8](), [name: value])
        #expect(!answer.text.contains("PostBodyLost"), "\(answer.text)")
    }
}
