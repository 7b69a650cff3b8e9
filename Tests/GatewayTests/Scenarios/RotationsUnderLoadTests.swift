import Configuration
import Credentials
import Crypto
import Delivery
import Net
import Queue
import SLS
import Sandbox
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Rotations while devices send as fast as they can, against a sandbox that knows three keys.
@Suite(.timeLimit(.minutes(2))) struct RotationsUnderLoadTests {
    private static let keys = (1...3).map {
        Credential(accessKeyID: "key-\($0)", secret: Secret("secret-\($0)"))
    }
    private static let posters = 4

    @Test("A hundred rotations under load fail no packet, lose no log and repeat none")
    func hundredRotations() throws {
        let directory = TemporaryDirectory()
        let partner = try SandboxPartner(.silent)
        defer { partner.stop() }
        let sandbox = try SandboxServer(
            SandboxConfiguration(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                keys: Self.keys
            ),
            journal: .silent
        )
        defer { sandbox.stop() }
        let endpoint = try Endpoint(parsing: "http://localhost:\(sandbox.address.port)")
        let gateway = try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["default"] = .fixed(Self.keys[0])
            $0.destinations[0].endpoints = [endpoint]
        }
        defer { gateway.stop(within: .zero) }

        let posters = try Crowd(Self.posters, at: gateway.deviceAddress)
        for number in 1...100 {
            let before = posters.answered.count
            let key = Self.keys[number % 3]
            let answer = try TestClient(address: gateway.adminAddress).send(
                "PUT",
                "/admin/credentials/default",
                Array(
                    #"{"AccessKeyId":"\#(key.accessKeyID)","AccessKeySecret":"\#(key.secret.revealed)"}"#
                        .utf8
                ),
                [
                    "authorization": "Bearer \(SandboxedGateway.token)",
                    "content-type": "application/json",
                ]
            )
            #expect(answer.status == 200, "rotation \(number): \(answer.text)")
            // Logs come between any two.
            #expect(eventually { posters.answered.count > before }, "rotation \(number)")
        }
        // Rotations may be done before there was much of a load.
        #expect(eventually { gateway.report.destinations[0].delivery.sentPackets > 50 })
        let answered = posters.stop()
        #expect(posters.refusals == [])
        #expect(eventually { gateway.report.queue.ledger.queued == 0 })

        let ledger = gateway.report.queue.ledger
        #expect(ledger.accepted == answered.count && ledger.delivered == ledger.accepted)
        let delivery = gateway.report.destinations[0].delivery
        #expect(delivery.failures.isEmpty && delivery.retries == 0)
        #expect(delivery.unknownOutcomes == 0 && delivery.storedBefore == 0)
        #expect(Set(delivery.answers.keys) == ["OK"], "\(delivery.answers)")
        let page = try TestClient(address: sandbox.address).get("/logs?limit=100000").text
        let stored = page.matches(of: /"number":"([^"]+)"/).map { String($0.1) }
        #expect(stored.count == answered.count, "nothing is there twice, nothing is missing")
        #expect(Set(stored) == answered)
    }
}

/// Threads that post numbered logs, one after the other, until they are told to stop.
private final class Crowd: Sendable {
    private struct State {
        var isOver = false
        var answered: Set<String> = []
        var refusals: [String] = []
    }

    private let state: Locked<State>
    private let workers: [Worker]

    init(_ count: Int, at address: ListenAddress) throws {
        let state = Locked(State())
        self.state = state
        workers = try (0..<count).map { poster in
            try Worker("poster") {
                let client = TestClient(address: address)
                var number = 0
                while !state.withLock(\.isOver) {
                    let name = "\(poster)-\(number)"
                    let body = #"{"number":"\#(name)"}"#.utf8
                    let status = try? client.post("/logs/hello", body).status
                    state.withLock { state in
                        if status == 200 {
                            state.answered.insert(name)
                        } else {
                            state.refusals.append("\(name): \(status ?? 0)")
                        }
                    }
                    number += 1
                }
            }
        }
    }

    var answered: Set<String> { state.withLock(\.answered) }
    var refusals: [String] { state.withLock(\.refusals) }

    /// What was answered with 200.
    func stop() -> Set<String> {
        state.withLock { $0.isOver = true }
        workers.forEach { $0.join() }
        return answered
    }
}
