import JSON
import Queue
import Rendering
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Delivery
@testable import Gateway
@testable import Operations

/// What is shown of a destination and its logstores.
@Suite struct DeliveryStatusTests {
    private let now = WallTime(seconds: 1_000_000)

    private func failure(_ logstore: String, at seconds: Int64 = 999_999) -> DeliveryFailure {
        DeliveryFailure(
            kind: .unauthorized,
            result: .sendUnauthorized,
            logstore: logstore,
            status: 401,
            code: "Unauthorized",
            message: "denied",
            requestID: "5F00",
            remedy: "check the policy",
            at: WallTime(seconds: seconds)
        )
    }

    private func outlet(
        _ logstore: String,
        _ change: (inout OutletStatus) -> Void = { _ in }
    ) -> OutletStatus {
        var outlet = OutletStatus(logstore: logstore)
        change(&outlet)
        return outlet
    }

    private func paused(_ logstore: String, until seconds: Int64?) -> OutletStatus {
        outlet(logstore) {
            $0.state = .paused(reason: "denied", until: seconds.map { WallTime(seconds: $0) })
            $0.lastFailure = failure(logstore)
        }
    }

    private func destination(
        _ outlets: [OutletStatus] = [],
        _ change: (inout DestinationStatus) -> Void = { _ in }
    ) throws -> GatewayReport.Destination {
        var settings = Destination(name: "app")
        settings.endpoints = [try Endpoint(parsing: "https://cn-hangzhou.log.aliyuncs.com")]
        settings.project = "my-project"
        var delivery = DestinationStatus(settings)
        delivery.state = .running
        for outlet in outlets { delivery.byLogstore[outlet.logstore] = outlet }
        change(&delivery)
        var queue = QueueStatus.Destination()
        queue.outlets["a"] = .init()
        queue.outlets["a"]?.queued = 4
        queue.outlets["a"]?.lanesInUse = 1
        queue.lanes = 2
        return .init(settings: settings, queue: queue, delivery: delivery)
    }

    @Test("A destination's state follows its sender, and it is paused if all its logstores are")
    func states() throws {
        #expect(try destination().delivery.stateName == "fine")
        #expect(try destination([outlet("a"), paused("b", until: 5)]).delivery.stateName == "fine")
        let still = try destination([paused("a", until: 7), paused("b", until: 5)]).delivery
        #expect(still.stateName == "paused")
        #expect(still.standstill == Standstill(reason: "denied", until: WallTime(seconds: 5)))
        let flying = try destination([paused("a", until: 7), paused("b", until: nil)]).delivery
        #expect(flying.standstill?.until == nil)
        let waiting = try destination { $0.state = .waitingForCredential(reason: "none") }.delivery
        #expect(waiting.stateName == "waiting_for_credential")
        #expect(waiting.trouble == "none")
        #expect(try destination { $0.state = .stopped }.delivery.stateName == "stopped")
    }

    @Test("Several failures in a row are reported as trouble, a single one is not")
    func failing() throws {
        func delivery(_ count: Int) throws -> DestinationStatus {
            try destination([outlet("a")]) {
                $0.lastFailure = failure("a")
                $0.failuresInARow = count
            }.delivery
        }
        #expect(try delivery(2).trouble == nil)
        #expect(try delivery(3).trouble == "401 Unauthorized: denied; check the policy")
        #expect(try delivery(3).stateName == "failing")
    }

    @Test("A logstore's trouble ends with the first packet stored after its last failure")
    func outletTrouble() {
        let failing = outlet("a") { $0.lastFailure = failure("a", at: 10) }
        #expect(failing.stateName == "failing")
        let recovered = outlet("a") {
            $0.lastFailure = failure("a", at: 10)
            $0.lastSuccess = WallTime(seconds: 11)
        }
        #expect(recovered.stateName == "fine")
        #expect(recovered.trouble == nil)
        #expect(paused("a", until: 1).stateName == "paused")
    }

    @Test("The status shows each logstore with its gate, its rate and its last error")
    func document() throws {
        let shown = try destination([
            outlet("a") {
                $0.limit = 3
                $0.inFlight = 2
                $0.waiting = 1
                $0.rate = 12.5
                $0.sentPackets = 9
            },
            paused("b", until: 1_000_005),
        ])
        var json = JSONWriter()
        json.object { $0.destination(shown, now: now) }
        for part in [
            #""state":"fine","trouble":null,"next_attempt":null"#,
            #""ledger_closed":true"#,
            #""lanes":2"#,
            #"{"logstore":"a","queued_logs":4,"lanes_in_use":1,"packets":0,"oldest_seconds":null,"state":"fine","trouble":null,"next_attempt":null,"in_flight":2,"limit":3,"waiting_packets":1,"sent_packets":9,"sent_logs":0,"rate":12.5,"waiting_for_retry":0,"#,
            #"{"logstore":"b","queued_logs":0,"lanes_in_use":0,"packets":0,"oldest_seconds":null,"state":"paused","trouble":"denied","next_attempt":"1970-01-12T13:46:45"#,
            #""kind":"unauthorized","error":"401 Unauthorized: denied","result":{"name":"LOG_PRODUCER_SEND_UNAUTHORIZED","number":6},"request_id":"5F00","remedy":"check the policy"}"#,
        ] {
            #expect(json.text.contains(part), "\(part) is not in \(json.text)")
        }
    }

    @Test("The text page shows the last error, its SDK result and the remedy")
    func text() throws {
        let shown = try destination { $0.lastFailure = failure("a") }
        var json = JSONWriter()
        json.object { json in
            json.array("destinations") { $0.object { $0.destination(shown, now: now) } }
        }
        #expect(
            View.status.text(of: json.bytes).hasSuffix(
                """
                  last error 1970-01-12T13:46:39.000Z a: 401 Unauthorized: denied (request id 5F00)
                  sdk result LOG_PRODUCER_SEND_UNAUTHORIZED (6)
                  remedy     check the policy

                """
            )
        )
    }

    @Test("A logstore to which nothing was sent yet is idle")
    func idle() throws {
        var json = JSONWriter()
        json.object { $0.destination(try! destination(), now: now) }
        #expect(json.text.contains(#""oldest_seconds":null,"state":"idle"}"#), "\(json.text)")
    }

    @Test("The metrics follow the format, by destination and by logstore")
    func metrics() throws {
        let shown = try destination([
            outlet("a") {
                $0.limit = 3
                $0.rate = 0.5
                $0.sentLogs = 8
                $0.failures[.quota] = 2
            },
            paused("b", until: nil),
        ]) {
            $0.limit = 16
            $0.rate = 40
            $0.results[.sendQuotaError] = 2
            $0.failures[.quota] = 2
        }
        var page = MetricsPage()
        page.write(DeliveryFigures.destinations, of: [(["app"], shown.delivery)], now: now)
        let outlets = shown.outlets.map { (["app", $0.logstore], $0) }
        page.write(DeliveryFigures.logstores, of: outlets.map { ($0, $1.queue) }, now: now)
        page.write(
            DeliveryFigures.logstoreDelivery,
            of: outlets.compactMap { labels, outlet in outlet.delivery.map { (labels, $0) } },
            now: now
        )
        #expect(problems(inMetrics: page.text) == [])
        for line in [
            #"sluice_delivery_limit{destination="app"} 16"#,
            #"sluice_delivery_rate{destination="app"} 40"#,
            #"sluice_delivery_state{destination="app",state="fine"} 1"#,
            #"sluice_delivery_state{destination="app",state="paused"} 0"#,
            #"sluice_delivery_results_total{destination="app",result="LOG_PRODUCER_SEND_QUOTA_ERROR"} 2"#,
            #"sluice_logstore_queued_logs{destination="app",logstore="a"} 4"#,
            #"sluice_logstore_lanes_in_use{destination="app",logstore="a"} 1"#,
            #"sluice_logstore_limit{destination="app",logstore="a"} 3"#,
            #"sluice_logstore_rate{destination="app",logstore="a"} 0.5"#,
            #"sluice_logstore_logs_total{destination="app",logstore="a"} 8"#,
            #"sluice_logstore_failures_total{destination="app",logstore="a",kind="quota"} 2"#,
            #"sluice_logstore_paused{destination="app",logstore="a"} 0"#,
            #"sluice_logstore_paused{destination="app",logstore="b"} 1"#,
        ] {
            #expect(page.text.contains(line + "\n"), "\(line)")
        }
    }

    @Test(
        "Decimals are written with as many digits as they need",
        arguments: [
            (0, "0"), (12.5, "12.5"), (-0.5, "-0.5"), (3, "3"), (0.0004, "0"), (1.0001, "1"),
            (99.999, "99.999"), (1e300, "0"), (.infinity, "0"),
        ]
    )
    func decimals(value: Double, text: String) {
        #expect(decimalText(value) == text)
    }
}

/// What is shown of a destination's part of the queue.
@Suite(.timeLimit(.minutes(10))) struct BacklogTests {
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
