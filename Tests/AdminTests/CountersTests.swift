import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import HTTP
@testable import Operations
@testable import System

@Suite(.timeLimit(.minutes(1))) struct CountersTests {
    @Test("Answers are counted by route and status, unknown ones as other")
    func answers() {
        let counters = AnswerCounters(labels: ["other", "logs"])
        for (label, status) in [
            (1, 200), (1, 200), (0, 404), (1, 299), (7, 418), (1, -1), (1, 700),
        ] {
            counters.count(Response(status: status).labelled(label))
        }
        func count(_ route: String, _ status: String) -> Int {
            counters.all.first { $0.route == route && $0.status == status }?.answers ?? 0
        }
        #expect(count("logs", "200") == 2 && count("logs", "other") == 3)
        #expect(count("other", "404") == 1 && count("other", "other") == 1)
        #expect(counters.all.contains(.init(route: "logs", status: "503", answers: 0)))
        #expect(counters.all.reduce(0) { $0 + $1.answers } == 7)
    }

    @Test("Every answer of both listeners is counted, with its route")
    func requests() throws {
        let trial = try SandboxedGateway()
        _ = try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8)
        _ = try trial.devices.post("/logs/hello", "no".utf8)
        _ = try trial.devices.post("/logstores/app-log/track", #"{"__logs__":[{"a":"1"}]}"#.utf8)
        for path in ["/healthz", "/servertime", "/nothing/at/all"] {
            _ = try trial.devices.get(path)
        }
        _ = try trial.devices.exchange(Array("NONSENSE\r\n\r\n".utf8))
        _ = try trial.admin.get("/metrics")
        _ = try trial.admin("/admin/dead-letters/17")
        _ = try trial.admin("/admin/nothing")
        let text = trial.gateway.report.metrics
        for (listener, route, status, count) in [
            ("devices", "logs", 200, 1), ("devices", "logs", 400, 1), ("devices", "track", 200, 1),
            ("devices", "healthz", 200, 1), ("devices", "servertime", 200, 1),
            ("devices", "other", 404, 1), ("devices", "other", 400, 1),
            ("admin", "metrics", 401, 1), ("admin", "dead_letters", 404, 1),
            ("admin", "other", 404, 1),
        ] {
            let labels = #"listener="\#(listener)",route="\#(route)",status="\#(status)""#
            #expect(text.contains("sluice_http_requests_total{\(labels)} \(count)\n"), "\(labels)")
        }
        #expect(text.contains("sluice_ingest_ack_seconds_count{route=\"logs\"} 1\n"))
        #expect(text.contains("sluice_ingest_ack_seconds_count{route=\"track\"} 1\n"))
    }

    @Test("A change by an operator is counted once, by its action")
    func changes() throws {
        let trial = try SandboxedGateway()
        for action in ["pause", "resume", "flush"] {
            let answer = try trial.admin.post(
                "/admin/destinations/default/\(action)",
                [UInt8](),
                ["authorization": "Bearer \(SandboxedGateway.token)"]
            )
            #expect(answer.status == 200)
        }
        let text = trial.gateway.report.metrics
        for (action, count) in [("pause", 1), ("resume", 1), ("flush", 1), ("purge", 0)] {
            let line = #"sluice_admin_changes_total{action="\#(action)"} \#(count)"#
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }
}
