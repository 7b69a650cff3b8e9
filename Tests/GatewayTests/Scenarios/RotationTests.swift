import Configuration
import Credentials
import Crypto
import Delivery
import Foundation
import HTTP
import Net
import Queue
import SLS
import Sandbox
import System
import TestGateway
import TestHTTP
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// The first rotation of a newcomer: the sandbox proves the key that it issued, and no other.
@Suite(.timeLimit(.minutes(10))) struct SandboxRotationTests {
    private static let path = "/admin/credentials/default"

    private let trial: SandboxedGateway

    init() throws { trial = try SandboxedGateway() }

    private func rotate(_ body: String) throws -> TestAnswer {
        try trial.gateway.ask("PUT", Self.path, body)
    }

    private func issued() throws -> String {
        let directory = trial.directory.path
        try trial.sandbox.issueKey(into: directory)
        let file = SandboxPartner.issuedFile(in: directory)
        #expect(permissions(of: file) == 0o600)
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    private func permissions(of file: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return attributes?[.posixPermissions] as? Int
    }

    @Test("The sandbox proves the key that it issued, and the next packet is signed with it")
    func issuedKey() throws {
        let answer = try rotate(try issued())
        #expect(answer.status == 200, "\(answer.text)")
        let inUse = trial.gateway.keeper.credential(named: "default")
        #expect(inUse?.accessKeyID.hasPrefix("STS.sandbox-") == true)
        #expect(try trial.devices.post("/logs/after", #"{"a":1}"#.utf8).status == 200)
        #expect(trial.delivered(1))
    }

    @Test("The sandbox refuses another secret, and the key in use stays")
    func otherSecret() throws {
        let before = trial.gateway.keeper.credential(named: "default")?.accessKeyID
        let secret = #""AccessKeySecret":""#
        let wrong = try issued().replacing(secret, with: secret + "0")
        let answer = try rotate(wrong)
        #expect(answer.status == 422, "\(answer.text)")
        #expect(trial.gateway.keeper.credential(named: "default")?.accessKeyID == before)
    }
}

/// A request that is on its way while the credential that signed it is replaced.
@Suite(.timeLimit(.minutes(10))) struct RotationInFlightTests {
    private static let taken = Response(
        status: 200,
        fields: [("x-log-requestid", "5FF9B1A2C3D4E5F601234567")]
    )
    /// A log group without logs, with which a credential is proved.
    private static let proof: [UInt8] = [0x22, 0x00]

    @Test("A request in flight during a rotation ends with the old credential and is not repeated")
    func inFlight() throws {
        let isHolding = Locked(true)
        let receiver = try RecordingServer { request, _ in
            request.body == Self.proof || !isHolding.withLock { $0 } ? Self.taken : nil
        }
        defer { receiver.stop() }
        let endpoint = try Endpoint(parsing: receiver.url)
        let trial = try SandboxedGateway {
            $0.credentials["default"] = .fixed(
                Credential(accessKeyID: "old-key-id", secret: Secret("old-secret"))
            )
            $0.destinations[0].endpoints = [endpoint]
        }
        let gateway = trial.gateway
        // Who signed each packet.
        func signers() -> [String] {
            receiver.requests.filter { $0.body != Self.proof }.map { request in
                let text = request.fields["authorization"] ?? ""
                return ["old-key-id", "new-key-id"].first { text.contains($0) } ?? text
            }
        }
        let log = #"{"a":1}"#.utf8
        #expect(try trial.devices.post("/logs/hello", log).status == 200)
        #expect(eventually { signers() == ["old-key-id"] })

        let answer = try gateway.ask(
            "PUT",
            "/admin/credentials/default",
            #"{"AccessKeyId":"new-key-id","AccessKeySecret":"new-secret"}"#
        )
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.text.contains(#""proved":true"#))
        #expect(gateway.report.queue.ledger.delivered == 0)
        #expect(gateway.report.destinations[0].delivery.inFlight == 1)
        isHolding.withLock { $0 = false }
        receiver.release(Self.taken)
        #expect(trial.delivered(1))

        #expect(try trial.devices.post("/logs/hello", log).status == 200)
        #expect(trial.delivered(2))
        #expect(signers() == ["old-key-id", "new-key-id"])
        let delivery = gateway.report.destinations[0].delivery
        #expect(delivery.failures.isEmpty && delivery.retries == 0 && delivery.storedBefore == 0)
    }
}

/// Rotations while devices send as fast as they can, against a sandbox that knows three keys.
@Suite(.timeLimit(.minutes(10))) struct RotationsUnderLoadTests {
    private static let keys = (1...3).map {
        Credential(accessKeyID: "key-\($0)", secret: Secret("secret-\($0)"))
    }
    private static let posters = 4

    @Test("A hundred rotations under load fail no packet, lose no log and repeat none")
    func hundredRotations() throws {
        let sandbox = try SandboxServer(
            SandboxConfiguration(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                keys: Self.keys
            ),
            journal: .silent
        )
        defer { sandbox.stop() }
        let endpoint = try Endpoint(parsing: "http://localhost:\(sandbox.address.port)")
        let trial = try SandboxedGateway {
            $0.credentials["default"] = .fixed(Self.keys[0])
            $0.destinations[0].endpoints = [endpoint]
        }
        let gateway = trial.gateway

        let posters = try Crowd(Self.posters, at: gateway.deviceAddress)
        for number in 1...100 {
            let before = posters.answered.count
            let key = Self.keys[number % 3]
            let answer = try gateway.ask(
                "PUT",
                "/admin/credentials/default",
                #"{"AccessKeyId":"\#(key.accessKeyID)","AccessKeySecret":"\#(key.secret.revealed)"}"#
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

/// A credential ends while a gate is closed for another reason, and all that waited grows too old
/// before the next credential comes: what devices send after that has to arrive without a restart.
@Suite(.timeLimit(.minutes(10))) struct CredentialGapTests {
    private let directory = TemporaryDirectory()
    private let partner: SandboxPartner

    init() throws {
        partner = try SandboxPartner(.silent)
    }

    private func gateway(_ source: CredentialSource, ageMax: Duration) throws -> Gateway {
        try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["default"] = source
            $0.queue.ageMax = ageMax
        }
    }

    /// As STS writes it, and known to the sandbox.
    private func token(_ id: String, lasting time: Duration) throws -> String {
        let key = #"{"access_key_id":"\#(id)","access_key_secret":"s","security_token":"t"}"#
        #expect(try partner.client.post("/keys", key.utf8).status == 200)
        return #"{"AccessKeyId":"\#(id)","AccessKeySecret":"s","SecurityToken":"t","#
            + #""Expiration":"\#((WallTime.now + time).rfc3339)"}"#
    }

    /// Posts logs until one that found the gate closed has expired with all others, and the
    /// credential has ended.
    private func gap(_ gateway: Gateway) throws {
        for logstore in ["one", "two"] {
            #expect(
                try gateway.deviceClient.post("/logs/\(logstore)", #"{"a":1}"#.utf8).status == 200
            )
        }
        var state: DestinationStatus.State { gateway.report.destinations[0].delivery.state }
        #expect(eventually { if case .paused = state { true } else { false } })
        #expect(eventually { if case .waitingForCredential = state { true } else { false } })
        #expect(eventually { gateway.report.queue.ledger.expired == 2 })
        #expect(gateway.report.queue.ledger.queued == 0)
        try partner.recover()
    }

    /// Whether what is accepted from now on arrives. Older logs may expire, so new ones come again
    /// and again.
    private func delivers(_ gateway: Gateway) -> Bool {
        eventually(within: .seconds(15)) {
            for logstore in ["one", "two"] {
                _ = try? gateway.deviceClient.post("/logs/\(logstore)", #"{"a":2}"#.utf8)
            }
            let outlets = gateway.report.destinations[0].delivery.outlets
            return outlets.count { $0.sentPackets > 0 } == 2
        }
    }

    @Test("A token pushed after a refused and expired one is used")
    func pushed() throws {
        let gateway = try gateway(.admin, ageMax: .seconds(6))
        defer { gateway.stop(within: .zero) }
        try partner.fail(#"{"status":401,"code":"SecurityTokenExpired"}"#)
        func push(_ token: String) throws {
            let answer = try gateway.ask("PUT", "/admin/credentials/default?force=true", token)
            #expect(answer.status == 200, "\(answer.text)")
        }
        try push(token("first", lasting: .seconds(3)))
        try gap(gateway)
        try push(token("second", lasting: .seconds(3600)))
        #expect(delivers(gateway))
    }

    @Test(
        "After an outage longer than the logs' age and the token's lifetime, the next token is used"
    )
    func outage() throws {
        // So that the endpoint's gate closes with the first answer.
        try partner.fail(#"{"status":503,"code":"ServerBusy","retry_after_s":1}"#)
        // The token ends before the logs do, so that a request finds it gone.
        let path = directory.file("token.json", try token("first", lasting: .seconds(3)))
        let gateway = try gateway(.file(FileSource(path: path)), ageMax: .seconds(6))
        defer { gateway.stop(within: .zero) }
        try gap(gateway)
        _ = directory.file("token.json", try token("second", lasting: .seconds(3600)))
        #expect(delivers(gateway))
    }
}
