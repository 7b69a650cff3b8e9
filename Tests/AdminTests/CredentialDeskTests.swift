import Configuration
import Credentials
import Crypto
import Delivery
import Foundation
import Net
import Queue
import SLS
import Sandbox
import System
import TestGateway
import TestSupport
import Testing

@testable import Gateway
@testable import Operations

/// Rotations against a sandbox that knows three keys.
@Suite(.timeLimit(.minutes(10))) final class CredentialDeskTests: Sendable {
    private static let first = Credential(accessKeyID: "firstkeyid", secret: Secret("canary-first"))
    private static let second = Credential(
        accessKeyID: "secondkeyid",
        secret: Secret("canary-second")
    )
    private static let sts = Credential(
        accessKeyID: "STS.thirdkeyid",
        secret: Secret("canary-third"),
        securityToken: Secret("canary-token")
    )
    private static let path = "/admin/credentials/default"
    private static let key = String(repeating: "5a", count: 32)

    let directory = TemporaryDirectory()
    let partner: SandboxPartner
    let sandbox: SandboxServer

    init() throws {
        partner = try SandboxPartner(.silent)
        sandbox = try SandboxServer(
            SandboxConfiguration(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                keys: [Self.first, Self.second, Self.sts]
            ),
            journal: .silent
        )
    }

    private func gateway(
        encryptionKey: String? = nil,
        _ source: CredentialSource = .fixed(first)
    ) throws -> Gateway {
        let endpoint = try Endpoint(parsing: "http://localhost:\(sandbox.address.port)")
        return try SandboxedGateway.gateway(partner, directory) {
            $0.encryptionKey = encryptionKey.map { Secret($0) }
            $0.credentials["default"] = source
            $0.destinations[0].endpoints = [endpoint]
        }
    }

    private func ask(
        _ gateway: Gateway,
        _ method: String,
        _ path: String = path,
        _ body: String = ""
    ) throws -> TestAnswer {
        try gateway.admin.ask(method, path, body)
    }

    private func body(_ credential: Credential, _ more: String = "") -> String {
        let token = credential.securityToken.map { #","SecurityToken":"\#($0.revealed)""# } ?? ""
        return #"{"AccessKeyId":"\#(credential.accessKeyID)","#
            + #""AccessKeySecret":"\#(credential.secret.revealed)"\#(token)\#(more)}"#
    }

    private func post(_ gateway: Gateway) throws -> Int {
        try TestClient(address: gateway.deviceAddress).post("/logs/hello", #"{"a":1}"#.utf8).status
    }

    @Test(
        "A credential that SLS takes is used from the next packet on, and shown without its secret"
    )
    func rotate() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let answer = try ask(gateway, "PUT", Self.path, body(Self.sts))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.text.contains(#""verdict":"accepted""#))
        #expect(answer.text.contains(#""stored":false"#))
        #expect(gateway.keeper.credential(named: "default") == Self.sts)
        #expect(try post(gateway) == 200)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        for path in ["/admin/credentials", Self.path, "/admin/audit", "/admin/status", "/metrics"] {
            let text = try ask(gateway, "GET", path).text
            #expect(!text.contains("canary"), "\(path)")
        }
        #expect(try ask(gateway, "GET", "/admin/audit").text.contains(#""action":"rotate""#))
    }

    @Test("A credential that SLS refuses is not used, and the answer has SLS's message")
    func refused() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let wrong = Credential(accessKeyID: "firstkeyid", secret: Secret("canary-wrong"))
        let answer = try ask(gateway, "PUT", Self.path, body(wrong))
        #expect(answer.status == 422, "\(answer.text)")
        #expect(answer.text.contains("SignatureNotMatch") && answer.text.contains("request id"))
        #expect(!answer.text.contains("canary"))
        #expect(gateway.keeper.credential(named: "default") == Self.first)
        let forced = try ask(gateway, "PUT", Self.path + "?force=true", body(wrong))
        #expect(forced.status == 200)
        #expect(gateway.keeper.credential(named: "default") == wrong)
    }

    @Test("A destination with a refused key continues at once after a rotation")
    func waking() throws {
        let gateway = try gateway(
            .fixed(Credential(accessKeyID: "nobody", secret: Secret("canary-nobody")))
        )
        defer { gateway.stop(within: .zero) }
        #expect(try post(gateway) == 200)
        #expect(eventually { gateway.keeper.status[0].state == .refused })
        let verdict = try ask(gateway, "POST", Self.path + "/verify")
        #expect(verdict.status == 422 && verdict.text.contains(#""verdict":"refused""#))
        let before = Moment.now
        #expect(try ask(gateway, "PUT", Self.path, body(Self.second)).status == 200)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        #expect(Moment.now - before < .seconds(10).calibrated())
        #expect(eventually { gateway.keeper.status[0].state == .ok })
    }

    @Test(
        "With an encryption key a rotation outlives a restart; without one nothing is written down"
    )
    func restart() throws {
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { gateway.stop(within: .zero) }
            let answer = try ask(gateway, "PUT", Self.path, body(Self.second))
            #expect(answer.text.contains(#""stored":true"#), "\(answer.text)")
        }
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { gateway.stop(within: .zero) }
            #expect(gateway.keeper.credential(named: "default") == Self.second)
            let answer = try ask(gateway, "DELETE")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(gateway.keeper.credential(named: "default") == Self.first)
        }
        let gateway = try gateway(encryptionKey: Self.key)
        defer { gateway.stop(within: .zero) }
        #expect(gateway.keeper.credential(named: "default") == Self.first)
        #expect(try plain(in: directory.path).isEmpty)
    }

    /// Names of files in which a secret stands.
    private func plain(in path: String) throws -> [String] {
        let files = FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []
        return files.filter { name in
            // What reads files of a given size leaks at empty ones.
            let file = FileHandle(forReadingAtPath: "\(path)/\(name)")
            let content = (try? file?.readToEnd()) ?? Data()
            return content.range(of: Data("canary".utf8)) != nil
        }
    }

    @Test(
        "What is no credential is refused with what is wrong",
        arguments: [
            (#"{"AccessKeyId":"a"}"#, 400, "AccessKeySecret"),
            (#"{"AccessKeyId":"a","AccessKeySecret":"b","Colour":"red"}"#, 400, "Colour"),
            ("[]", 400, "JSON object"),
            (
                #"{"AccessKeyId":"a","AccessKeySecret":"b","SecurityToken":"c","Expiration":"2020-01-01T00:00:00Z"}"#,
                400, "expired"
            ),
            (#"{"AccessKeyId":"a b","AccessKeySecret":"b"}"#, 400, "access key id"),
        ]
    )
    func wrong(text: String, status: Int, part: String) throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let answer = try ask(gateway, "PUT", Self.path, text)
        #expect(answer.status == status, "\(answer.text)")
        #expect(answer.text.contains(part), "\(answer.text)")
        #expect(try ask(gateway, "PUT", "/admin/credentials/other", body(Self.first)).status == 404)
        #expect(gateway.keeper.credential(named: "default") == Self.first)
    }

    @Test("A credential with an activation time is not used before it")
    func next() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let later = body(Self.second, #","Activation":"2100-01-01T00:00:00Z""#)
        let answer = try ask(gateway, "PUT", Self.path, later)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.text.contains(#""next":{"fingerprint""#))
        #expect(gateway.keeper.credential(named: "default") == Self.first)
    }

    @Test("After a restart a credential whose activation time has passed is in use")
    func activatedRestart() throws {
        let soon = (WallTime.now + .seconds(2)).rfc3339
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { gateway.stop(within: .zero) }
            #expect(try ask(gateway, "PUT", Self.path, body(Self.sts)).status == 200)
            let next = body(Self.second, #","Activation":"\#(soon)""#)
            #expect(try ask(gateway, "PUT", Self.path, next).status == 200)
            #expect(
                eventually { gateway.keeper.credential(named: "default") == Self.second }
            )
        }
        let gateway = try gateway(encryptionKey: Self.key)
        defer { gateway.stop(within: .zero) }
        #expect(gateway.keeper.credential(named: "default") == Self.second)
    }

    @Test("A pushed credential of a removed name can be forgotten")
    func gone() throws {
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { gateway.stop(within: .zero) }
            #expect(try ask(gateway, "PUT", Self.path, body(Self.second)).status == 200)
        }
        let gateway = try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["other"] = .admin
        }
        defer { gateway.stop(within: .zero) }
        #expect(try ask(gateway, "DELETE").status == 200)
        #expect(try ask(gateway, "DELETE", "/admin/credentials/nobody").status == 404)
        #expect(try gateway.store.decisions.recall().isEmpty)
    }

    @Test("The second of two rotations with the same If-Match version is refused, also with force")
    func versions() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        func put(_ credential: Credential, _ version: String, _ query: String = "") throws
            -> TestAnswer
        {
            try gateway.admin.ask("PUT", Self.path + query, body(credential), ifMatch: version)
        }
        let version = try #require(try ask(gateway, "GET")["etag"])
        #expect(version.contains(/^"[0-9a-f]{16}"$/))
        let first = try put(Self.second, #""older", \#(version)"#)
        #expect(first.status == 200, "\(first.text)")
        let after = try #require(first["etag"])
        #expect(try after != version && ask(gateway, "GET")["etag"] == after)
        for query in ["", "?force=true"] {
            let second = try put(Self.sts, version, query)
            #expect(second.status == 412, "\(second.text)")
        }
        // A weak tag is no version (RFC 9110, section 13.1.1), and what cannot be read is no
        // condition.
        #expect(try put(Self.sts, "W/" + after).status == 412)
        #expect(try put(Self.sts, String(after.dropLast())).status == 400)
        #expect(gateway.keeper.credential(named: "default") == Self.second)
        #expect(try put(Self.sts, "*").status == 200)
        let stale = try gateway.admin.ask("DELETE", Self.path, ifMatch: after)
        #expect(stale.status == 412)
        #expect(gateway.keeper.credential(named: "default") == Self.sts)
    }

    @Test("One of several concurrent rotations with the same version succeeds")
    func concurrentVersions() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let version = try #require(try ask(gateway, "GET")["etag"])
        let statuses = Locked<[Int]>([])
        let workers = try (0..<8).map { number in
            try Worker("rotator") {
                let credential = [Self.second, Self.sts][number % 2]
                let path = Self.path + (number < 4 ? "" : "?force=true")
                let body = self.body(credential)
                let answer = try? gateway.admin.ask("PUT", path, body, ifMatch: version)
                statuses.withLock { $0.append(answer?.status ?? 0) }
            }
        }
        for worker in workers { worker.join() }
        #expect(statuses.withLock { $0.sorted() } == [200] + [Int](repeating: 412, count: 7))
    }
}

/// What is said of pushed credentials that are kept, or are not.
@Suite(.timeLimit(.minutes(10))) final class CredentialKeepingTests {
    private static let path = "/admin/credentials/default"
    private static let key = String(repeating: "5a", count: 32)
    private static let otherKey = String(repeating: "a5", count: 32)
    private static let pushed = Credential(accessKeyID: "pushed", secret: Secret("canary-pushed"))

    let directory = TemporaryDirectory()
    let partner: SandboxPartner

    init() throws { partner = try SandboxPartner(.silent) }

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
        return try gateway.admin.ask(method, path, method == "PUT" ? body : "").text
    }

    @Test(
        "The status says the next morning, too, what outlives a restart, and what cannot be opened"
    )
    func kept() throws {
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
                #expect(gateway.store.decisions.store(decision) == nil)
            }
            let gateway = try gateway(encryptionKey: Self.key)
            defer { gateway.stop(within: .zero) }
            #expect(try gateway.store.decisions.recall().keys.contains(setting) == isLeft)
        }
    }

    @Test("A credential that one reload removes comes back with the next")
    func away() throws {
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
