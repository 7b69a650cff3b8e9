import Configuration
import Crypto
import Net
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// Against the sandbox, which checks signatures as SLS does.
@Suite(.timeLimit(.minutes(10))) struct CredentialProofTests {
    private static let good = Credential(
        accessKeyID: "plainkeyid",
        secret: Secret("plainkeysecret")
    )

    private func sandbox() throws -> SandboxServer {
        try SandboxServer(
            SandboxConfiguration(
                listen: try ListenAddress(parsing: "127.0.0.1:0"),
                keys: [Self.good, Samples.credential]
            ),
            journal: .silent
        )
    }

    private func prove(
        _ credential: Credential,
        port: Int,
        logstore: String? = "app-log",
        _ change: (inout Destination) throws -> Void = { _ in },
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws -> DestinationTest {
        var settings = try Samples.destination(port: port)
        try change(&settings)
        let place = DestinationTester.Place(settings, logstore: logstore)
        var tester = DestinationTester()
        tester.now = now
        return try #require(try tester.prove(credential, at: [place]).first)
    }

    @Test("A credential that SLS takes is proved, in both signatures, and nothing is stored")
    func accepted() throws {
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        let port = Int(sandbox.address.port)
        for signature in SignatureVersion.allCases {
            for credential in [Self.good, Samples.credential] {
                let proof = try prove(credential, port: port) { $0.signature = signature }
                #expect(proof.verdict == .accepted, "\(proof)")
                #expect(proof.requestID != nil)
            }
        }
        let proof = try prove(Self.good, port: port, logstore: nil)
        #expect(proof.verdict == .accepted, "\(proof)")
    }

    @Test("A wrong secret, key or token is refused, in SLS's words and without the secret")
    func refused() throws {
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        let wrong = [
            Credential(accessKeyID: "plainkeyid", secret: Secret("canary-secret")),
            Credential(accessKeyID: "nobody", secret: Secret("canary-secret")),
            Credential(
                accessKeyID: Samples.credential.accessKeyID,
                secret: Samples.credential.secret,
                securityToken: Secret("canary-token")
            ),
        ]
        for credential in wrong {
            let proof = try prove(credential, port: Int(sandbox.address.port))
            #expect(proof.verdict == .refused, "\(proof)")
            #expect(proof.code?.isEmpty == false && proof.requestID != nil)
            #expect(!"\(proof)".contains("canary"))
        }
    }

    @Test("A missing permission says something where logs go, and nothing of a made-up logstore")
    func denied() throws {
        let message = "denied by sts or ram, action: log:PostLogStoreLogs, resource: acs:log:x"
        let server = try ScriptedServer { _, _ in
            .answer(401, code: "Unauthorized", message: message)
        }
        defer { server.stop() }
        let real = try prove(Self.good, port: server.port)
        #expect(real.verdict == .refused, "\(real)")
        let anyOne = try prove(Self.good, port: server.port, logstore: nil)
        #expect(anyOne.verdict == .undecided, "\(anyOne)")
    }

    @Test("A wrong key is refused at a made-up logstore as well")
    func refusedAnywhere() throws {
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        let wrong = Credential(accessKeyID: "plainkeyid", secret: Secret("canary-secret"))
        let proof = try prove(wrong, port: Int(sandbox.address.port), logstore: nil)
        #expect(proof.verdict == .refused, "\(proof)")
    }

    @Test("Without an answer nothing is decided, and the next endpoint is asked")
    func endpoints() throws {
        let nobody = try prove(Self.good, port: 1)
        #expect(nobody.verdict == .undecided)
        #expect(nobody.code == "CURLE_7")
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        let proof = try prove(Self.good, port: Int(sandbox.address.port)) {
            $0.endpoints.insert(try Endpoint(parsing: "http://localhost:1"), at: 0)
        }
        #expect(proof.verdict == .accepted)
    }

    @Test("Destinations that are silent have their time together, and one that answers is heard")
    func silent() throws {
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        let server = try ScriptedServer { _, _ in .silence }
        defer { server.stop() }
        let silent = try Samples.destination(port: server.port)
        let heard = try Samples.destination(port: Int(sandbox.address.port))
        let places =
            (0..<10).map { DestinationTester.Place(silent, logstore: "store-\($0)") }
            + [DestinationTester.Place(heard, logstore: nil)]
        let start = Moment.now
        let proofs = try DestinationTester().prove(Self.good, at: places, within: .seconds(1))
        #expect(Moment.now - start < .seconds(8).calibrated())
        #expect(proofs.map(\.verdict) == Array(repeating: .undecided, count: 10) + [.accepted])
    }

    @Test("One refusal is enough, the others are not waited for")
    func oneRefusal() throws {
        let server = try ScriptedServer { request, _ in
            request.logstore.hasPrefix("bad")
                ? .answer(401, code: "InvalidAccessKeyId", message: "no") : .silence
        }
        defer { server.stop() }
        let settings = try Samples.destination(port: server.port)
        let places = ["a", "bad", "c"].map { DestinationTester.Place(settings, logstore: $0) }
        let start = Moment.now
        let proofs = try DestinationTester().prove(Self.good, at: places)
        #expect(proofs.map(\.verdict) == [.refused])
        #expect(Moment.now - start < .seconds(10).calibrated())
    }

    @Test("Destinations that deliver to one place are proved by one request")
    func oncePerPlace() throws {
        let server = try ScriptedServer { _, _ in .stored }
        defer { server.stop() }
        var settings = try Samples.destination(port: server.port)
        let first = DestinationTester.Place(settings, logstore: "a")
        settings.name = "another"
        let second = DestinationTester.Place(settings, logstore: "a")
        let proofs = try DestinationTester().prove(Self.good, at: [first, second])
        #expect(proofs.map(\.verdict) == [.accepted, .accepted])
        #expect(proofs.map(\.destination) == [first.settings.name, "another"])
        #expect(server.requests.now.count == 1)
    }

    @Test("A host whose clock is wrong proves with SLS's time")
    func clock() throws {
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        let proof = try prove(
            Self.good,
            port: Int(sandbox.address.port),
            now: { .now + .seconds(7200) }
        )
        #expect(proof.verdict == .accepted, "\(proof)")
    }
}
