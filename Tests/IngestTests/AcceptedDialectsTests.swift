import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Configuration
@testable import Ingest

/// Dialects that are switched off by `devices.accept`.
@Suite(.timeLimit(.minutes(10))) struct AcceptedDialectsTests {
    private struct Ask: Sendable {
        let dialect: String
        let method: String
        let path: String
        var body = ""
        var type = "application/json"
        let status: Int
    }

    /// Every path there is, with an answer that only who knows it gives.
    private static let asks = [
        Ask(dialect: "json", method: "POST", path: "/logs/app", body: #"{"a":1}"#, status: 200),
        Ask(
            dialect: "sls",
            method: "POST",
            path: "/logstores/app-log/track",
            body: #"{"__logs__":[{"a":"1"}]}"#,
            status: 200
        ),
        Ask(dialect: "sls", method: "GET", path: "/logstores/app-log/track?a=1", status: 200),
        Ask(dialect: "sls", method: "GET", path: "/logstores/app-log/track.gif?a=1", status: 200),
        Ask(dialect: "sls", method: "GET", path: "/logstores/app-log/track_ua.gif?a", status: 200),
        Ask(dialect: "sls", method: "POST", path: "/logstores/app-log/shards/lb", status: 400),
        Ask(dialect: "sls", method: "POST", path: "/logstores/app-log/shards/route", status: 400),
        Ask(dialect: "sls", method: "POST", path: "/logstores/app-log", status: 400),
        Ask(dialect: "sls", method: "GET", path: "/servertime", status: 200),
        Ask(dialect: "otlp", method: "POST", path: "/v1/logs", body: "{}", status: 200),
        Ask(dialect: "otlp", method: "POST", path: "/otlp/v1/logs", body: "{}", status: 200),
        Ask(dialect: "elastic", method: "POST", path: "/_bulk", status: 400),
        Ask(dialect: "elastic", method: "POST", path: "/index/_bulk", status: 400),
        Ask(dialect: "elastic", method: "POST", path: "/index/_doc", body: "{}", status: 201),
        Ask(dialect: "elastic", method: "PUT", path: "/index/_create/1", body: "{}", status: 201),
        Ask(dialect: "elastic", method: "GET", path: "/", status: 200),
        Ask(dialect: "elastic", method: "GET", path: "/_license", status: 200),
        Ask(dialect: "elastic", method: "GET", path: "/_cluster/health", status: 200),
        Ask(dialect: "splunk", method: "POST", path: "/services/collector", status: 400),
        Ask(dialect: "splunk", method: "POST", path: "/services/collector/raw", status: 400),
        Ask(dialect: "splunk", method: "POST", path: "/services/collector/ack", status: 400),
        Ask(dialect: "splunk", method: "GET", path: "/services/collector/health", status: 200),
        Ask(dialect: "loki", method: "POST", path: "/loki/api/v1/push", status: 400),
        Ask(dialect: "loki", method: "GET", path: "/ready", status: 200),
    ]

    private static let names = AcceptedDialects.names.map(\.key)
    /// What tells that a dialect is there, in bodies and headers of answers.
    private static let marks = [
        "json": ["/logs/"], "sls": ["/logstores/", "errorCode", "x-log-apiversion", "x-acs-"],
        "otlp": ["v1/logs"], "elastic": ["_bulk", "lastic"], "splunk": ["collector", "splunk"],
        "loki": ["loki", "x-scope-orgid"],
    ]

    @Test(
        "A dialect that is not in the list has no path, and nothing tells of it",
        arguments: names,
        [true, false]
    )
    func hidden(name: String, isAlone: Bool) throws {
        let taken = isAlone ? [name] : Self.names.filter { $0 != name }
        let end = try DeviceListener(
            "devices: { accept: [\(taken.joined(separator: ", "))] }\n\(DeviceListener.twoDestinations)"
        )
        let hidden = Self.names.filter { !taken.contains($0) }
        for ask in Self.asks {
            for method in Set([ask.method, "OPTIONS", "DELETE"]) {
                let answer = try end.client.send(
                    method,
                    ask.path,
                    method == ask.method ? Array(ask.body.utf8) : [],
                    [
                        "content-type": ask.type, "origin": "https://app.example.com",
                        "access-control-request-method": "POST",
                    ]
                )
                if hidden.contains(ask.dialect) {
                    #expect(answer.status == 404, "\(method) \(ask.path)")
                    #expect(answer["allow"] == nil && answer["x-elastic-product"] == nil)
                    #expect(answer["access-control-allow-headers"] == nil)
                    #expect(answer.text.hasPrefix(#"{"error":{"code":"PathNotExist""#))
                } else if method == ask.method {
                    #expect(answer.status == ask.status, "\(method) \(ask.path): \(answer.text)")
                }
                let whole = "\(answer.fields) \(answer.text)"
                for mark in hidden.flatMap({ Self.marks[$0] ?? [] }) {
                    #expect(!whole.contains(mark), "\(method) \(ask.path): \(mark) in \(whole)")
                }
            }
        }
        #expect(try end.client.get("/healthz").status == 200)
    }

    @Test("What was an index is a tag where Elasticsearch is off")
    func shadowed() throws {
        let end = try DeviceListener("devices: { accept: json }\n\(DeviceListener.twoDestinations)")
        for tag in ["_doc", "_bulk"] {
            #expect(try end.client.post("/logs/\(tag)", #"{"a":1}"#.utf8).status == 200)
            #expect(end.queue.stored.last?.stream.trailer.topic == tag)
        }
    }
}
