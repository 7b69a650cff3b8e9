import Configuration
import Credentials
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

@Suite(.timeLimit(.minutes(1))) struct CrowdedIngestTests {
    private static let token: KeyValuePairs = [
        "authorization": "Bearer \(SandboxedGateway.token)", "content-type": "application/json",
    ]
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
            #expect(try trial.admin.send("POST", path, [], Self.token).status == 200)
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

        let credential = Array(#"{"AccessKeyId":"fresh","AccessKeySecret":"canary"}"#.utf8)
        let rotation = "/admin/credentials/default?force=true"
        for round in 0..<10 {
            for (method, path, body, status) in [
                ("GET", "/healthz", [], 200), ("GET", "/readyz", [], 503),
                ("GET", "/admin/status", [], 200), ("GET", "/metrics", [], 200),
                ("PUT", rotation, credential, 200),
            ] {
                let start = Moment.now
                let answer = try trial.admin.send(method, path, body, Self.token)
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
