import Net
import SLS
import Sandbox
import System
import Testing

@testable import Delivery

/// Against the sandbox, which checks signatures as SLS does.
@Suite(.timeLimit(.minutes(1))) struct CredentialProofTests {
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
        _ change: (inout DestinationSettings) throws -> Void = { _ in },
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws -> CredentialProof {
        var settings = try Samples.destination(port: port)
        try change(&settings)
        return try CredentialProver(settings, now: now).prove(credential, logstore: logstore)
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

    @Test("Where nobody answers nothing is decided, and the next endpoint is asked")
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
