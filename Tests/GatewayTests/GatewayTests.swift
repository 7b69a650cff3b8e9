import Configuration
import HTTP
import Ingest
import Net
import Queue
import SLS
import SQLiteQueue
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct GatewayTests {
    @Test("A log posted by a device arrives at SLS, signed, with its tag as topic")
    func wholeWay() throws {
        let trial = try SandboxedGateway()
        let answer = try trial.devices.post("/logs/hello", #"{"level":"info","msg":"hi"}"#.utf8)
        #expect(answer.status == 200)
        #expect(trial.delivered(1))
        let arrived = try trial.arrived(in: "hello")
        #expect(arrived.contains(#""msg":"hi""#), "\(arrived)")
        #expect(arrived.contains(#""__topic__":"hello""#))
        #expect(trial.gateway.report.queue.ledger.isClosed)
    }

    @Test("A tag of several terms goes to the logstore of its first, and is the topic as a whole")
    func termsOfTag() throws {
        let trial = try SandboxedGateway()
        #expect(try trial.devices.post("/logs/pv.home", #"{"a":1}"#.utf8).status == 200)
        #expect(trial.delivered(1))
        let arrived = try trial.arrived(in: "pv")
        #expect(arrived.contains(#""__topic__":"pv.home""#), "\(arrived)")
    }

    @Test("Everything with a 200 arrives, from many requests at once")
    func many() throws {
        let trial = try SandboxedGateway()
        let logs = (0..<50).map { #"{"n":\#($0)}"# }
        let body = #"{"__logs__":[\#(logs.joined(separator: ","))]}"#
        for _ in 0..<40 {
            #expect(try trial.devices.post("/logstores/many/track", body.utf8).status == 200)
        }
        #expect(trial.delivered(2000))
        #expect(trial.gateway.report.queue.ledger.queued == 0)
    }

    @Test("Undelivered logs survive a stop and are delivered after the next start")
    func restart() throws {
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
        // Nobody listens there.
        let endpoint = try Endpoint(parsing: "http://localhost:1")
        let nowhere = try SandboxedGateway.gateway(sandbox, directory) {
            $0.destinations[0].endpoints = [endpoint]
        }
        let client = nowhere.deviceClient
        #expect(try client.post("/logs/later", #"[{"a":1},{"a":2}]"#.utf8).status == 200)
        nowhere.stop(within: .milliseconds(200))
        #expect(throws: (any Error).self) { try client.get("/healthz") }

        let again = try SandboxedGateway.gateway(sandbox, directory)
        defer { again.stop(within: .zero) }
        #expect(again.report.queue.ledger.accepted == 2)
        #expect(eventually { again.report.queue.ledger.delivered == 2 })
    }

    @Test("A stop delivers queued logs before it ends")
    func draining() throws {
        let trial = try SandboxedGateway { $0.destinations[0].transfer.packet.age = .seconds(3600) }
        #expect(try trial.devices.post("/logs/last", #"{"a":1}"#.utf8).status == 200)
        trial.gateway.stop(within: .seconds(20))
        let arrived = try trial.arrived(in: "last")
        #expect(arrived.contains(#""a":"1""#), "\(arrived)")
    }

    @Test("An unfinished request does not prevent delivery during a stop")
    func drainingBesideSlowClient() throws {
        let trial = try SandboxedGateway { $0.destinations[0].transfer.packet.age = .seconds(3600) }
        #expect(try trial.devices.post("/logs/last", #"{"a":1}"#.utf8).status == 200)
        let slow = try trial.devices.opened(sending: "POST /logs/last HTTP/1.1\r\n")
        trial.gateway.stop(within: .seconds(2))
        #expect(trial.gateway.report.queue.ledger.delivered == 1)
        withExtendedLifetime(slow) {}
    }

    @Test("Logs of a request that ends during a stop are delivered")
    func drainingLateRequest() throws {
        let trial = try SandboxedGateway { $0.destinations[0].transfer.packet.age = .seconds(3600) }
        let late = try trial.devices.opened(
            sending: "POST /logs/last HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\n\r\n{"
        )
        #expect(eventually { trial.gateway.servers.devices.counters[.heldBodies] > 0 })
        let gateway = trial.gateway
        let stop = try Worker("stop") { gateway.stop(within: .seconds(20)) }
        // It stops accepting after the first flush.
        #expect(eventually { (try? trial.devices.get("/healthz")) == nil })
        late.send(#""a":1}"#)
        #expect(late.rest().hasPrefix("HTTP/1.1 200 "))
        stop.join()
        #expect(gateway.report.queue.ledger.delivered == 1)
    }

    @Test("A second gateway on the same data directory fails with an error that names it")
    func sameDirectory() throws {
        let trial = try SandboxedGateway()
        let error = #expect(throws: QueueError.self) {
            _ = try SandboxedGateway.gateway(trial.sandbox, trial.directory)
        }
        #expect(
            error?.description.contains(trial.directory.path) == true,
            "\(String(describing: error))"
        )
    }

    @Test(
        "A port in use fails the start with an error that names it, and leaves no threads or files"
    )
    func takenPort() throws {
        let trial = try SandboxedGateway()
        let directory = TemporaryDirectory()
        let taken = trial.gateway.deviceAddress
        let error = #expect(throws: ListenError.self) {
            _ = try SandboxedGateway.gateway(trial.sandbox, directory) { $0.listen = taken }
        }
        #expect(error?.description.contains("\(taken)") == true, "\(String(describing: error))")
        let free = try SandboxedGateway.gateway(trial.sandbox, directory)
        free.stop(within: .zero)
    }

    @Test("A data directory that cannot be created fails with an error that names it")
    func unwritableDirectory() throws {
        let error = #expect(throws: QueueError.self) {
            _ = try SandboxedGateway { $0.dataDirectory = "/proc/none" }
        }
        #expect(error?.description.contains("/proc/none") == true, "\(String(describing: error))")
    }

    @Test("A full queue refuses logs until a credential arrives and delivery makes room")
    func fullQueue() throws {
        let trial = try SandboxedGateway {
            $0.queue.bytesMax = 1 << 20
            $0.credentials = [:]
        }
        // Nothing that lz4 could shrink much.
        var noise = randomBytes(40_000).map { UInt8(ascii: "a") + $0 % 26 }
        var refused: TestAnswer?
        for _ in 0..<100 where refused == nil {
            noise.shuffle()
            let body = Array(#"{"a":""#.utf8) + noise + Array(#""}"#.utf8)
            let answer = try trial.devices.post("/logs/xx", body)
            if answer.status != 200 { refused = answer }
        }
        #expect(refused?.status == 503)
        #expect(refused?.text.contains("ServerBusy") == true)
        #expect(refused?["retry-after"] == "1")
        let ready = try trial.admin.get("/readyz")
        #expect(ready.status == 503)
        #expect(ready.text.contains("the queue is full"))
        #expect(
            try trial.admin("/metrics").text.contains(#"sluice_queue_admission{state="full"} 1"#)
        )

        trial.gateway.reload(try SandboxedGateway.configuration(trial.sandbox, trial.directory))
        #expect(eventually { trial.gateway.report.queue.ledger.queued == 0 })
        #expect(try trial.devices.post("/logs/xx", #"{"a":1}"#.utf8).status == 200)
        #expect(try trial.admin.get("/readyz").status == 200)
    }
}

@Suite(.timeLimit(.minutes(10))) struct DualStackTests {
    private static let body = Array(#"{"a":1}"#.utf8)

    @Test("On a socket for both families a v4 client has its v4 address, for proxies and limits")
    func dualStack() throws {
        let trial = try SandboxedGateway {
            $0.listen = .everywhere(port: 0)
            $0.devices.perAddress.rate = Allowance(1, per: .hour)
            $0.devices.proxies.ranges = [AddressRange(IPAddress("127.0.0.1")!, bits: 128)]
        }
        let port = trial.gateway.deviceAddress.port
        func status(_ host: String, _ forwarded: String) throws -> Int {
            var client = TestClient(address: ListenAddress(host: host, port: port))
            client.source = host
            return try client.post("/logs/app", Self.body, ["x-forwarded-for": forwarded]).status
        }
        // The range is written for v4, and the proxy comes through a v6 socket.
        #expect(try status("127.0.0.1", "192.0.2.1") == 200)
        #expect(try status("127.0.0.1", "::ffff:192.0.2.1") == 429)
        #expect(try status("127.0.0.1", "192.0.2.2") == 200)
        // Over v6 it is no trusted proxy, and its header is ignored.
        #expect(try status("::1", "192.0.2.3") == 200)
        #expect(try status("::1", "192.0.2.4") == 429)
    }
}

@Suite struct QueueSettingsTests {
    @Test("The reader sets the dead letters' age and the duplicates' window")
    func queue() throws {
        let configuration = try read(
            minimal + "queue: {dead_letter_age: 3d}\ndevices: {duplicates: {window: 2h, max: 9}}"
        ).queueConfiguration
        #expect(configuration.deadLetterAgeMax == .seconds(3 * 86_400))
        #expect(configuration.repeatsAgeMax == .seconds(7200))
        #expect(configuration.repeatsMax == 9)
        for none in ["window: 0", "max: 0"] {
            let text = minimal + "devices: {duplicates: {\(none)}}"
            #expect(try read(text).queueConfiguration.repeatsMax == 0)
        }
    }
}
