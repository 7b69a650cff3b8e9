import Configuration
import Credentials
import Crypto
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

/// What is said of pushed credentials that are kept, or are not.
@Suite(.timeLimit(.minutes(1))) struct CredentialKeepingTests {
    private static let path = "/admin/credentials/default"
    private static let key = String(repeating: "5a", count: 32)
    private static let otherKey = String(repeating: "a5", count: 32)
    private static let pushed = Credential(accessKeyID: "pushed", secret: Secret("canary-pushed"))

    let directory = TemporaryDirectory()
    let partner: SandboxPartner

    init() throws {
        partner = try SandboxPartner(.silent)
    }

    private func gateway(encryptionKey: String?) throws -> Gateway {
        try SandboxedGateway.gateway(partner, directory) {
            $0.encryptionKey = encryptionKey.map { Secret($0) }
            $0.credentials["default"] = .admin
        }
    }

    private func ask(_ gateway: Gateway, _ method: String, _ path: String) throws -> String {
        let credential = Self.pushed
        let body =
            #"{"AccessKeyId":"\#(credential.accessKeyID)","AccessKeySecret":"\#(credential.secret.revealed)"}"#
        return try TestClient(address: gateway.adminAddress).send(
            method,
            path,
            Array((method == "PUT" ? body : "").utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        ).text
    }

    @Test(
        "The status says the next morning, too, what outlives a restart, and what cannot be opened"
    )
    func kept() throws {
        defer { partner.stop() }
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { gateway.stop(within: .zero) }
            #expect(try ask(gateway, "GET", Self.path).contains(#""kept":null"#))
            _ = try ask(gateway, "PUT", Self.path + "?force=true")
            for path in [Self.path, "/admin/credentials", "/admin/status"] {
                #expect(try ask(gateway, "GET", path).contains(#""kept":"disk""#), "\(path)")
            }
        }
        for (key, reason) in [(Self.otherKey, "another encryption key"), (nil, "encryption_key")] {
            let gateway = try gateway(encryptionKey: key)
            defer { gateway.stop(within: .zero) }
            let text = try ask(gateway, "GET", Self.path)
            #expect(text.contains(#""kept":"closed""#) && text.contains(reason), "\(text)")
            #expect(text.contains(#""state":"missing""#))
            let absence = gateway.keeper.absence(of: "default")
            #expect(absence?.contains(reason) == true, "\(absence ?? "")")
        }
        let gateway = try gateway(encryptionKey: Self.key)
        defer { gateway.stop(within: .zero) }
        #expect(gateway.keeper.credential(named: "default") == Self.pushed)
        #expect(try ask(gateway, "GET", Self.path).contains(#""kept":"disk""#))
        #expect(try ask(gateway, "DELETE", Self.path).contains(#""kept":null"#))
    }

    @Test("Without an encryption key the status shows that credentials are kept in memory only")
    func inMemory() throws {
        defer { partner.stop() }
        let gateway = try gateway(encryptionKey: nil)
        defer { gateway.stop(within: .zero) }
        _ = try ask(gateway, "PUT", Self.path + "?force=true")
        let text = try ask(gateway, "GET", Self.path)
        #expect(text.contains(#""kept":"memory""#) && text.contains("encryption_key"), "\(text)")
    }

    @Test(
        "What expired long ago is thrown away at a start; a clock that is hours wrong loses nothing"
    )
    func expired() throws {
        defer { partner.stop() }
        let box = SecretBox(key: try SealingKey(Secret(Self.key)))
        func sealed(ago: Duration) -> [UInt8] {
            let end = WallTime.now + (.zero - ago)
            let supplied = SuppliedCredential(
                Self.pushed,
                expiration: end,
                origin: "a test",
                obtainedAt: end + .seconds(-3600)
            )
            return box.seal(PushedCredential(supplied), name: "default")
        }
        let setting = StoredCredential.setting(of: "default", isNext: false)
        for (ago, isLeft) in [(Duration.seconds(36_000), true), (.seconds(200_000), false)] {
            do {
                let gateway = try gateway(encryptionKey: Self.key)
                defer { gateway.stop(within: .zero) }
                let entry = AuditEntry(actor: "a", address: "", action: "b", subject: "c")
                let decision = Decision([setting: sealed(ago: ago)], entry)
                #expect(gateway.store.store(decision) == nil)
            }
            let gateway = try gateway(encryptionKey: Self.key)
            defer { gateway.stop(within: .zero) }
            #expect(try gateway.store.recall().keys.contains(setting) == isLeft)
        }
    }

    @Test("A credential that one reload removes comes back with the next")
    func away() throws {
        defer { partner.stop() }
        let gateway = try gateway(encryptionKey: nil)
        defer { gateway.stop(within: .zero) }
        _ = try ask(gateway, "PUT", Self.path + "?force=true")
        let whole = gateway.configuration.withLock { $0 }
        var less = whole
        less.credentials["default"] = nil
        less.credentials["other"] = .admin
        less.destinations[0].credential = "other"
        gateway.reload(less)
        #expect(gateway.keeper.credential(named: "default") == nil)
        gateway.reload(whole)
        #expect(gateway.keeper.credential(named: "default") == Self.pushed)
    }
}
