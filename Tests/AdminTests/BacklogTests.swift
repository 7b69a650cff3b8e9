import Configuration
import JSON
import Queue
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Delivery
@testable import Gateway
@testable import Operations

/// What is shown of a destination's part of the queue.
@Suite(.timeLimit(.minutes(1))) struct BacklogTests {
    private let now = WallTime(seconds: 1_000_000)

    private var queue: QueueStatus.Destination {
        var queue = QueueStatus.Destination()
        queue.bytes = 10
        queue.bytesMax = 100
        queue.admission = .destinationFull
        queue.packets = 3
        queue.lanes = 8
        queue.dropped = 7
        queue.deadBytes = 2
        queue.refusedLogs = 6
        queue.lastRefusal = DeathReason(code: "Unauthorized", message: "denied")
        queue.imbalance = 9
        queue.logstores = 2
        queue.logstoresMax = 5
        queue.oldest = WallTime(seconds: 999_990)
        for (name, age) in [("b", 1), ("a", 10)] as [(String, Int64)] {
            var outlet = QueueStatus.Outlet()
            outlet.queued = 4
            outlet.oldest = WallTime(seconds: 1_000_000 - age)
            queue.outlets[name] = outlet
        }
        return queue
    }

    @Test("The status shows a destination's bounds and its use of them")
    func status() {
        var json = JSONWriter()
        json.object { $0.backlog(queue, now: now) }
        #expect(
            json.text == """
                {"admission":"destination_full","bytes":10,"packets":3,"lanes":8,"logstores":2,"logstores_max":5,"bytes_max":100,"dead_bytes":2,"dropped_logs":7,"refused_logs":6,"oldest_seconds":10.000,"last_refusal":"Unauthorized: denied"}
                """
        )
        var empty = JSONWriter()
        empty.object { $0.backlog(.init(), now: now) }
        #expect(empty.text.contains(#""bytes_max":null"#))
        #expect(empty.text.contains(#""oldest_seconds":null"#))
    }

    @Test("The metrics show backlogs by destination and by logstore")
    func metrics() {
        var page = MetricsPage()
        page.write(QueueFigures.backlog, of: [(["app"], queue)], now: now)
        page.write(QueueFigures.losses, of: [(["app"], queue)], now: now)
        #expect(problems(inMetrics: page.text) == [])
        for line in [
            #"sluice_destination_admission{destination="app",state="destination_full"} 1"#,
            #"sluice_destination_admission{destination="app",state="open"} 0"#,
            #"sluice_destination_bytes{destination="app"} 10"#,
            #"sluice_destination_max_bytes{destination="app"} 100"#,
            #"sluice_destination_packets{destination="app"} 3"#,
            #"sluice_destination_lanes{destination="app"} 8"#,
            #"sluice_destination_logstores{destination="app"} 2"#,
            #"sluice_destination_max_logstores{destination="app"} 5"#,
            #"sluice_logs_dropped_total{destination="app"} 7"#,
            #"sluice_destination_dead_bytes{destination="app"} 2"#,
            #"sluice_logs_refused_total{destination="app"} 6"#,
            #"sluice_ledger_imbalance_logs{destination="app"} 9"#,
        ] {
            #expect(page.text.contains(line + "\n"), "\(line)")
        }
    }

    @Test("A gateway whose only destination is full is not ready")
    func ready() throws {
        let trial = try SandboxedGateway {
            $0.destinations[0].endpoints = [try! Endpoint(parsing: "http://localhost:1")]
            $0.destinations[0].backlog.bytesMax = 4096
        }
        // Less and less, until nothing fits any more.
        for size in [512, 64, 1] {
            let body = Array(#"{"a":"\#(hex(randomBytes(size)))"}"#.utf8)
            #expect(eventually { (try? trial.devices.post("/logs/hello", body).status) == 503 })
        }
        #expect(eventually { (try? trial.admin.get("/readyz").status) == 503 })
        #expect(
            eventually {
                (try? trial.admin("/admin/status").text.contains(#""admission":"destination_full""#))
                    == true
            }
        )
    }
}
