import Credentials
import Crypto
import Delivery
import HTTP
import Net
import Queue
import SLS
import Sandbox
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct ReloadTests {
    private func configuration(
        _ more: String = "",
        topic: String = "a",
        project: String = "my-project"
    )
        throws -> GatewayConfiguration
    {
        try read(
            """
            destinations:
              app:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: \(project)
                logstore: app-log
                topic: \(topic)
            \(more)
            """
        )
    }

    @Test("Each changed key is listed, with whether it needs a restart")
    func changes() throws {
        let before = try configuration()
        #expect(before.changes(to: before) == [])
        let after = try configuration(
            "log: {level: debug, format: json}\nlisten: 127.0.0.1:9\nqueue: {max_bytes: 1GiB}",
            topic: "b",
            project: "other-project"
        )
        #expect(
            before.changes(to: after) == [
                .init(key: "listen", isImmediate: false),
                .init(key: "queue.max_bytes", isImmediate: true),
                .init(key: "log.format", isImmediate: false),
                .init(key: "log.level", isImmediate: true),
                .init(key: "destinations.app.project", isImmediate: true),
                .init(key: "destinations.app.topic", isImmediate: true),
            ]
        )
    }

    private static let extra = """
        credentials:
          default: { from: environment }
          other: { from: static, access_key_id: i, access_key_secret: s }
        """

    @Test("An unused credential is removed at once and listed once")
    func unusedCredential() throws {
        var running = try configuration(Self.extra)
        let after = try configuration()
        #expect(
            running.changes(to: after) == [.init(key: "credentials.other", isImmediate: true)]
        )
        running.apply(after)
        #expect(running.credentials.keys.sorted() == ["default"])
        #expect(running.changes(to: after) == [])
    }

    @Test("A credential is removed when its last destination uses another")
    func leftCredential() throws {
        var running = try configuration("    credential: other\n" + Self.extra)
        let after = try configuration()
        #expect(
            running.changes(to: after) == [
                .init(key: "credentials.other", isImmediate: true),
                .init(key: "destinations.app.credential", isImmediate: true),
            ]
        )
        running.apply(after)
        #expect(running.credentials.keys.sorted() == ["default"])
        #expect(running.changes(to: after) == [])
    }

    @Test("A removed destination keeps its credential until it is closed, and both are listed once")
    func goneDestination() throws {
        let second = """
              web:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: my-project
                logstore: web-log
                credential: other

            """
        var running = try configuration(second + Self.extra)
        let after = try configuration()
        #expect(
            running.changes(to: after) == [
                .init(
                    key: "credentials.other (gone, but still used by destination web)",
                    isImmediate: true
                ),
                .init(key: "destinations.web (gone)", isImmediate: true),
            ]
        )
        running.apply(after)
        #expect(running.destinations.map(\.name) == ["app", "web"])
        #expect(running.destinations.map(\.isRemoved) == [false, true])
        #expect(running.credentials["other"] != nil)
        #expect(running.changes(to: after) == [])
        var closed = running
        closed.forget(["app", "web"])
        #expect(closed.destinations.map(\.name) == ["app"])
        #expect(closed.credentials.keys.sorted() == ["default"])

        let again = try configuration(second + Self.extra)
        #expect(
            running.changes(to: again) == [.init(key: "destinations.web (new)", isImmediate: true)]
        )
        running.apply(again)
        #expect(running == again)
    }

    @Test("A reload that would leave too many removed destinations at a time is refused")
    func manyRemoved() throws {
        let files = (0...GatewayConfiguration.removedMax).map { number in
            "  file-\(number): { kind: file, path: /tmp/\(number).ndjson }\n"
        }
        let all = try configuration(files.joined())
        #expect(all.obstacle(to: try configuration(files[0])) == nil)
        let after = try configuration()
        #expect(all.obstacle(to: after)?.contains("at most 64 may") == true)
        var running = all
        running.apply(try configuration(files[0]))
        #expect(running.obstacle(to: after) != nil)
        running.forget(["file-1"])
        #expect(running.obstacle(to: after) == nil)
    }

    @Test("A destination that comes back as another kind waits until the removed one is closed")
    func otherKind() throws {
        let second = """
              web: { kind: file, path: /tmp/web.ndjson }

            """
        var running = try configuration(second)
        let after = try configuration()
        let other = try configuration("  web: { kind: stdout }\n")
        #expect(running.obstacle(to: other) == nil)
        #expect(
            running.changes(to: other) == [.init(key: "destinations.web.kind", isImmediate: false)]
        )
        running.apply(after)
        #expect(running.obstacle(to: other)?.hasPrefix("destinations.web.kind: ") == true)
        #expect(running.obstacle(to: try configuration(second)) == nil)
        running.forget(["web"])
        #expect(running.obstacle(to: other) == nil)
    }

    @Test("A reload changes level, key, token and labels while the gateway runs")
    func reload() throws {
        let journal = Journal(level: .info, format: .json) { _ in }
        let trial = try SandboxedGateway(journal: journal)
        let token = String(repeating: "n", count: 32)
        trial.gateway.reload {
            $0.log.level = .debug
            $0.admin.token = Secret(token)
            $0.destinations[0].labels.topic = "renamed"
            $0.listen = ListenAddress(host: "127.0.0.1", port: 1)
        }
        #expect(journal.level == .debug)
        let metrics = try trial.admin.get("/metrics", ["authorization": "Bearer \(token)"])
        #expect(metrics.status == 200)
        #expect(try trial.admin("/metrics").status == 401)
        #expect(try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8).status == 200)
        #expect(trial.delivered(1))
        let arrived = try trial.arrived(in: "hello")
        #expect(arrived.contains(#""__topic__":"renamed""#), "\(arrived)")
    }

    @Test("A reload applies a destination's new endpoint, bound and rule at once")
    func destinations() throws {
        let nowhere = try Endpoint(parsing: "http://localhost:1")
        let trial = try SandboxedGateway {
            $0.destinations[0].endpoints = [nowhere]
            $0.destinations[0].backlog.bytesMax = 4096
        }
        let (gateway, sandbox, devices) = (trial.gateway, trial.sandbox, trial.devices)
        let body = Array(#"{"a":"\#(hex(randomBytes(512)))"}"#.utf8)
        #expect(eventually { (try? devices.post("/logs/hello", body).status) == 503 })
        let accepted = gateway.report.queue.ledger.accepted
        gateway.reload(
            try SandboxedGateway.configuration(sandbox, trial.directory) {
                $0.destinations[0].transfer.compression = .zstd
                $0.destinations[0].intake.oversize = .deadLetter
            }
        )
        #expect(eventually { (try? devices.post("/logs/hello", body).status) == 200 })
        #expect(eventually { gateway.report.queue.ledger.delivered > accepted })
        #expect(
            gateway.report.destinations[0].delivery.endpoint
                == "http://localhost:\(sandbox.address.port)"
        )
        #expect(gateway.report.queue.destinations["default"]?.bytesMax == nil)
    }

    @Test("The queue's own bounds change at once")
    func queueBounds() throws {
        let trial = try SandboxedGateway()
        let gateway = trial.gateway
        gateway.reload {
            $0.queue.bytesMax = 1 << 20
            $0.queue.ageMax = .seconds(60)
            $0.queue.deadLetterAgeMax = .seconds(60)
        }
        #expect(eventually { gateway.report.queue.bytesMax == 1 << 20 })
        #expect(gateway.configuration.withLock(\.queue.ageMax) == .seconds(60))
    }

    @Test(
        "A corrected logstore holds for what is queued, also for what was refused under the other name"
    )
    func correctedLogstore() throws {
        let directory = TemporaryDirectory()
        let partner = try SandboxPartner(.silent)
        defer { partner.stop() }
        let key = Credential(accessKeyID: "key", secret: Secret("secret"))
        var strict = SandboxConfiguration(
            listen: ListenAddress(host: "127.0.0.1", port: 0),
            keys: [key]
        )
        strict.logstores = ["right"]
        let sandbox = try SandboxServer(strict, journal: .silent)
        defer { sandbox.stop() }
        let endpoint = try Endpoint(parsing: "http://localhost:\(sandbox.address.port)")
        func configuration(_ logstore: String) throws -> GatewayConfiguration {
            try SandboxedGateway.configuration(partner, directory) {
                $0.credentials["default"] = .fixed(key)
                $0.destinations[0].endpoints = [endpoint]
                $0.destinations[0].logstore = .named(logstore)
            }
        }
        let gateway = try Gateway(try configuration("typo"), journal: .silent)
        defer { gateway.stop(within: .zero) }
        let devices = gateway.deviceClient
        for number in 0..<3 {
            #expect(try devices.post("/logs/hello", #"{"a":\#(number)}"#.utf8).status == 200)
            #expect(eventually { gateway.report.destinations[0].delivery.failuresInARow > 0 })
        }
        gateway.reload(try configuration("right"))
        #expect(eventually { gateway.report.queue.ledger.delivered == 3 })
        #expect(gateway.report.queue.ledger.isClosed)
        let arrived = try TestClient(address: sandbox.address).get("/logs?logstore=right").text
        for number in 0..<3 { #expect(arrived.contains(#""a":"\#(number)""#), "\(arrived)") }
    }

    @Test("A reload that delivery cannot apply is refused as a whole")
    func refused() throws {
        let recorder = JournalRecorder(level: .info)
        let trial = try SandboxedGateway(journal: recorder.journal)
        trial.gateway.reload {
            $0.log.level = .debug
            $0.destinations[0].labels.topic = "renamed"
            $0.destinations[0].signature = .v4
            $0.destinations[0].region = nil
        }
        #expect(recorder.text.contains("region"))
        #expect(recorder.journal.level == .info)
        #expect(trial.gateway.configuration.withLock(\.destinations)[0].labels.topic == "")
    }
}

/// Reloads that change what devices may send.
@Suite(.timeLimit(.minutes(10))) struct DeviceReloadTests {
    private static let body = Array(#"{"a":1}"#.utf8)

    @Test("A reload of devices.accept applies to the next request; metrics keep what was counted")
    func dialects() throws {
        let trial = try SandboxedGateway()
        let event = Array(#"{"event":1}"#.utf8)
        func status() throws -> Int {
            try trial.devices.post("/services/collector", event).status
        }
        func routes() throws -> Set<String> {
            let lines = try trial.admin("/metrics").text.split(separator: "\n")
            let parts = lines.flatMap { $0.matches(of: /route="([a-z]+)"/) }
            return Set(parts.map { String($0.output.1) })
        }
        #expect(try routes().isSuperset(of: ["splunk", "loki", "elastic", "otlp", "logs"]))
        #expect(try status() == 200)
        trial.gateway.reload { $0.devices.accepted = [.json, .otlp] }
        #expect(try status() == 404)
        let left = try routes()
        #expect(left.isSuperset(of: ["logs", "otlp", "splunk", "healthz", "other"]))
        #expect(left.isDisjoint(with: ["loki", "elastic", "track", "putlogs", "servertime"]))
        #expect(trial.delivered(1))
        trial.gateway.reload { $0.devices.accepted = .all }
        #expect(try status() == 200)
    }

    @Test("A reload replaces the list of origins for the next request")
    func origins() throws {
        let trial = try SandboxedGateway {
            $0.devices.cors.origins = OriginList(["https://app.example.com"])
        }
        func status(_ origin: String) throws -> Int {
            try trial.devices.post("/logs/hello", Self.body, ["origin": origin]).status
        }
        #expect(try status("https://app.example.com") == 200)
        #expect(try status("https://web.example.com") == 403)
        trial.gateway.reload { $0.devices.cors.origins = OriginList(["https://web.example.com"]) }
        #expect(try status("https://app.example.com") == 403)
        #expect(try status("https://web.example.com") == 200)
    }

    @Test("A reload replaces the keys; metrics and pages show their names, never a key")
    func keys() throws {
        let (phoneKey, webKey) = ("phone-0123456789abcdef+/=", "web-0123456789abcdef0123")
        let trial = try SandboxedGateway {
            $0.devices.keys = [DeviceKey(name: "phone", secret: Secret(phoneKey))]
        }
        let phone = ["x-sluice-key": phoneKey] as KeyValuePairs
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 401)
        #expect(try trial.devices.post("/logs/hello", Self.body, phone).status == 200)
        let metrics = trial.gateway.report.metrics
        #expect(metrics.contains("sluice_device_key_requests_total{key=\"phone\"} 1\n"))
        trial.gateway.reload { $0.devices.keys = [DeviceKey(name: "web", secret: Secret(webKey))] }
        #expect(try trial.devices.post("/logs/hello", Self.body, phone).status == 401)
        let web = ["x-sluice-key": webKey] as KeyValuePairs
        #expect(try trial.devices.post("/logs/hello", Self.body, web).status == 200)
        for path in ["/metrics", "/status", "/v1/status", "/v1/destinations"] {
            let text = try trial.admin(path).text
            #expect(!text.contains(phoneKey) && !text.contains(webKey), "\(path)")
        }
        let settings = trial.gateway.configuration.withLock(\.devices)
        #expect(!String(reflecting: settings).contains(webKey))
    }

    @Test("A reload changes the limit of an address, and metrics show it")
    func addressLimits() throws {
        let trial = try SandboxedGateway { $0.devices.perAddress.rate = Allowance(1, per: .hour) }
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 200)
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 429)
        let metrics = trial.gateway.report.metrics
        #expect(metrics.contains("sluice_device_address_refused_total{reason=\"rate\"} 1\n"))
        #expect(metrics.contains("sluice_device_addresses 1\n"))
        #expect(metrics.contains("sluice_device_addresses_max 65536\n"))
        trial.gateway.reload { $0.devices.perAddress.rate = nil }
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 200)
    }
}
