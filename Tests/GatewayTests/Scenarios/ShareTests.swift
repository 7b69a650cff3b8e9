import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import Queue
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// One device key against another, through the whole gateway.
@Suite(.timeLimit(.minutes(10))) struct ShareTests {
    private static let (web, phone) = ("web-0123456789abcdef", "phone-0123456789abcdef")

    private func trial(
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void
    ) throws -> SandboxedGateway {
        try SandboxedGateway { configuration in
            configuration.devices.keys = [
                DeviceKey(name: "web", secret: Secret(Self.web)),
                DeviceKey(name: "phone", secret: Secret(Self.phone)),
            ]
            change(&configuration)
        }
    }

    /// A push of so many label sets that no other one has.
    private func push(_ number: Int, labelSets: Int, _ key: String, _ trial: SandboxedGateway)
        throws
        -> TestAnswer
    {
        let streams = (0..<labelSets).map { place in
            #"{"stream":{"job":"j","id":"\#(key)-\#(number)-\#(place)"},"values":[["1800000000000000000","x"]]}"#
        }
        let body = #"{"streams":[\#(streams.joined(separator: ","))]}"#
        return try trial.devices.post(
            "/loki/api/v1/push",
            body.utf8,
            ["x-sluice-key": key, "content-type": "application/json"]
        )
    }

    @Test("A public key that invents labels is refused; another key is served")
    func streams() throws {
        let trial = try trial { $0.queue.streamsMax = 1000 }
        try trial.sandbox.fail()
        var refused: TestAnswer?
        for number in 0..<100 where refused == nil {
            let answer = try push(number, labelSets: 128, Self.web, trial)
            if answer.status >= 300 { refused = answer }
        }
        let answer = try #require(refused)
        #expect(answer.status == 503 && answer["retry-after"] != nil)
        #expect(answer.text.contains("this device key has its share"), "\(answer.text)")
        #expect((256...500).contains(trial.gateway.report.queue.streams))
        for number in 0..<2 {
            #expect(try push(number, labelSets: 100, Self.phone, trial).status < 300)
        }
        let metrics = try trial.admin("/metrics").text
        #expect(metrics.contains(#"sluice_queue_streams_refused_total{share="key"} 1"#))
    }

    @Test("A public key with a new stream for each request displaces no other key's logs")
    func repeats() throws {
        let trial = try trial { $0.devices.duplicates.max = 50 }
        func send(_ name: String, _ key: String) throws -> String {
            let answer = try trial.devices.post(
                "/logs/app",
                #"{"a":1}"#.utf8,
                ["x-sluice-key": key, "idempotency-key": name]
            )
            #expect(answer.status == 200)
            return answer["x-log-requestid"] ?? ""
        }
        let receipts = try (0..<10).map { try send("batch-\($0)", Self.phone) }
        for number in 0..<200 { _ = try send("fresh-\(number)", Self.web) }
        for number in 0..<10 {
            #expect(try send("batch-\(number)", Self.phone) == receipts[number])
        }
    }
}

/// Bulks that name several new logstores at once, over a real queue from which nothing leaves.
@Suite(.timeLimit(.minutes(10))) struct NewLogstoresTests {
    private let trial: SandboxedGateway

    init() throws {
        let nowhere = try Endpoint(parsing: "http://localhost:1")
        trial = try SandboxedGateway {
            $0.destinations[0].endpoints = [nowhere]
            $0.destinations[0].backlog.logstoresMax = 2
        }
    }

    /// The status of each action.
    private func statuses(_ lines: [String]) throws -> [Int] {
        let body = lines.map { $0 + "\n" }.joined()
        let answer = try trial.devices.post("/_bulk?filter_path=items.*.status", body.utf8)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.text.matches(of: /"status":(\d+)/).compactMap { Int($0.1) }
    }

    private func documents(_ names: String...) -> [String] {
        names.flatMap { [#"{"index":{"_index":"log-\#($0)"}}"#, #"{"a":"b"}"#] }
    }

    /// The queue shows a moment after the answer who has a place, and then knows it for the next
    /// request, too.
    private func haveThem(_ names: String...) -> Bool {
        eventually {
            trial.gateway.report.destinations[0].outlets.map(\.logstore).sorted() == names
        }
    }

    private func accepted(_ count: Int64) -> Bool {
        eventually { trial.gateway.report.queue.ledger.accepted == count }
    }

    @Test("A bulk with more new logstores than places is stored up to the limit")
    func several() throws {
        let three = documents("a", "b", "c", "a", "c")
        for round in 1...2 {
            #expect(try statuses(three) == [201, 201, 429, 201, 429])
            #expect(accepted(3 * Int64(round)))
        }
        #expect(haveThem("log-a", "log-b"))
        #expect(try statuses(documents("d", "e", "b")) == [429, 429, 201])
    }

    @Test("Successive bulks use up the places for logstores")
    func later() throws {
        #expect(try statuses(documents("a")) == [201])
        #expect(haveThem("log-a"))
        #expect(try statuses(documents("b", "c")) == [201, 429])
        #expect(haveThem("log-a", "log-b"))
        #expect(try statuses(documents("c")) == [429])
    }

    @Test("A request without logs uses no place for a logstore")
    func empty() throws {
        let lines =
            [
                #"{"delete":{"_index":"log-x","_id":"1"}}"#, #"{"index":{"_index":"log-y"}}"#,
                "no document",
            ]
            + documents("a", "b")
        #expect(try statuses(lines) == [400, 400, 201, 201])
        #expect(haveThem("log-a", "log-b"))
    }
}

/// Small senders with tags of their own, which would each need packets of their own.
@Suite(.timeLimit(.minutes(10))) struct FleetTests {
    private let memoryMax = 150 << 20

    @Test("Devices above the stream limit get 503; other devices are served")
    func bounded() throws {
        let trial = try SandboxedGateway { $0.queue.streamsMax = 50 }
        try trial.sandbox.fail()
        func send(_ device: Int, _ number: Int) throws -> TestAnswer {
            let body =
                #"{"__topic__":"app","__source__":"iOS","__logs__":[{"number":"\#(device)-\#(number)"}],"#
                + #""__tags__":{"device_id":"device-\#(device)"}}"#
            return try trial.devices.post("/logstores/fleet/track", body.utf8)
        }
        for device in 0..<50 { #expect(try send(device, 0).status == 200) }
        for device in 50..<60 {
            let answer = try send(device, 0)
            // What makes the SDKs keep the logs and try again.
            #expect(answer.status == 503)
            #expect(answer.text.contains(#""errorCode":"ServerBusy""#), "\(answer.text)")
            #expect(answer.body.count <= 255)
        }
        for device in 0..<50 { #expect(try send(device, 1).status == 200) }
        #expect(trial.gateway.report.queue.streams == 50)

        try trial.sandbox.recover()
        #expect(trial.delivered(100))
        #expect(eventually { trial.gateway.report.queue.streams == 0 })
        for device in 50..<60 { #expect(try send(device, 0).status == 200) }
        #expect(trial.delivered(110))
        #expect(trial.gateway.report.queue.ledger.isClosed)
        let numbers = try DeviceFleet.numbers(at: trial.sandbox.client, in: "fleet")
        #expect(Set(numbers).count == 110 && numbers.count == 110)
    }

    @Test("With folded tags 20,000 devices share packets")
    func folded() throws {
        let trial = try SandboxedGateway {
            $0.destinations[0].intake.foldTags = .all
            $0.destinations[0].transfer.packet.age = .seconds(1)
        }
        let before = ProcessFigures.now.residentBytes
        let fleet = DeviceFleet(client: trial.devices, devices: 20_000, logsEach: 5)
        #expect(try fleet.send(to: "fleet") == 20_000)
        #expect(trial.gateway.report.queue.streams <= 1)
        #expect(trial.delivered(100_000, within: .seconds(120)))

        let report = trial.gateway.report
        let delivery = report.destinations[0].delivery
        #expect(delivery.sentLogs == 100_000)
        #expect(delivery.sentLogs / delivery.sentPackets > 500)
        #expect(ProcessFigures.now.residentBytes - before < memoryMax)
        #expect(report.queue.ledger.isClosed)

        let sandbox = trial.sandbox.client
        let numbers = try DeviceFleet.numbers(at: sandbox, in: "fleet")
        #expect(numbers.count == 100_000)
        #expect(Set(numbers).count == 100_000)
        let log = try sandbox.get("/logs?logstore=fleet&contains=device-19999&limit=1").text
        #expect(log.contains(#""__tag__:device_id":"device-19999""#), "\(log)")
    }

    @Test(
        "A fleet that keeps its tags has a stream and a packet for each device, and no stream stays"
    )
    func unfolded() throws {
        let trial = try SandboxedGateway()
        let before = ProcessFigures.now.residentBytes
        let fleet = DeviceFleet(client: trial.devices, devices: 5000, logsEach: 1)
        #expect(try fleet.send(to: "fleet") == 5000)
        #expect(trial.delivered(5000, within: .seconds(120)))
        #expect(eventually { trial.gateway.report.queue.streams == 0 })
        let report = trial.gateway.report
        #expect(report.destinations[0].delivery.sentPackets == 5000)
        #expect(report.queue.bytes == 0)
        #expect(ProcessFigures.now.residentBytes - before < memoryMax)
        let numbers = try DeviceFleet.numbers(at: trial.sandbox.client, in: "fleet")
        #expect(numbers.count == 5000)
        #expect(Set(numbers).count == 5000)
    }
}

@Suite(.timeLimit(.minutes(10))) struct CrowdedIngestTests {
    /// Machines that run tests are busy; who waits for a queue or a connection waits longer than
    /// this.
    private static let patience = Duration.seconds(5)

    @Test("The admin listener answers while devices use all their connections")
    func crowded() throws {
        let trial = try SandboxedGateway { $0.limits.http.connectionsPerAddress = 8 }
        // Each that is taken waits for the end of its body, which does not come; every loop has its
        // own.
        var held: [TestConnection] = []
        let head = "POST /logs/slow HTTP/1.1\r\nhost: h\r\ncontent-length: 60000\r\n\r\n"
        for _ in 0..<64 { held.append(try trial.devices.opened(sending: head + "{")) }
        #expect(eventually { (try? trial.devices.get("/logs/x").status) == 503 })

        for _ in 0..<20 {
            #expect(try trial.admin("/admin/status").status == 200)
            #expect(try trial.admin("/metrics").status == 200)
            #expect(try trial.admin.get("/healthz").status == 200)
        }
        for verb in ["pause", "resume", "flush"] {
            let path = "/admin/destinations/default/\(verb)"
            #expect(try trial.gateway.ask("POST", path).status == 200)
        }
        withExtendedLifetime(held) {}
    }

    @Test(
        "Admin answers soon while the queue is full, the room for bodies is used up and devices go on"
    )
    func saturated() throws {
        let nowhere = try Endpoint(parsing: "http://localhost:1")
        let trial = try SandboxedGateway {
            $0.queue.bytesMax = 1 << 20
            $0.limits.http.inFlightBodyBytes = 1 << 20
            $0.limits.bodyBytes = 1 << 20
            $0.destinations[0].endpoints = [nowhere]
        }
        let noise = #"{"noise":"\#(hex(randomBytes(64 << 10)))"}"#
        #expect(eventually { (try? trial.devices.post("/logs/full", noise.utf8).status) == 503 })
        // Most of the bodies' room belongs to devices that stopped in the middle, from several
        // addresses.
        var slow: [TestConnection] = []
        let head = "POST /logs/slow HTTP/1.1\r\nhost: h\r\ncontent-length: 400000\r\n\r\n"
        let part = #"{"a":""# + String(repeating: "x", count: 300_000)
        for last in 2...5 {
            var device = trial.devices
            device.source = "127.0.0.\(last)"
            slow.append(try device.opened(sending: head + part))
        }
        // Others ask again and again, as SDKs do.
        let isOver = Locked(false)
        let refused = Locked(0)
        let posters = try (0..<4).map { number in
            try Worker("poster-\(number)") {
                while !isOver.withLock({ $0 }) {
                    let answer = try? trial.devices.post("/logs/full", noise.utf8)
                    if answer?.status == 503 { refused.withLock { $0 += 1 } }
                }
            }
        }
        defer {
            isOver.withLock { $0 = true }
            for poster in posters { poster.join() }
        }
        #expect(eventually { refused.withLock { $0 } > 8 })

        let credential = #"{"AccessKeyId":"fresh","AccessKeySecret":"canary"}"#
        let rotation = "/admin/credentials/default?force=true"
        for round in 0..<10 {
            for (method, path, body, status) in [
                ("GET", "/healthz", "", 200), ("GET", "/readyz", "", 503),
                ("GET", "/admin/status", "", 200), ("GET", "/metrics", "", 200),
                ("PUT", rotation, credential, 200),
            ] {
                let start = Moment.now
                let answer = try trial.gateway.ask(method, path, body)
                #expect(answer.status == status, "\(method) \(path): \(answer.text)")
                #expect(
                    Moment.now - start < Self.patience.calibrated(),
                    "\(method) \(path) in round \(round)"
                )
            }
        }
        let report = trial.gateway.report
        #expect(report.queue.bytes > 900_000)
        #expect(report.listeners[0].counters[.refusedBodies] > 0)
        #expect(trial.gateway.keeper.credential(named: "default")?.accessKeyID == "fresh")
        withExtendedLifetime(slow) {}
    }
}
