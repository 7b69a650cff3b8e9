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
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Rotations against a sandbox that knows three keys.
@Suite(.timeLimit(.minutes(1))) struct CredentialDeskTests {
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
        try TestClient(address: gateway.adminAddress).send(
            method,
            path,
            Array(body.utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
    }

    private func body(_ credential: Credential, _ more: String = "") -> String {
        let token = credential.securityToken.map { #","SecurityToken":"\#($0.revealed)""# } ?? ""
        return #"{"AccessKeyId":"\#(credential.accessKeyID)","#
            + #""AccessKeySecret":"\#(credential.secret.revealed)"\#(token)\#(more)}"#
    }

    private func post(_ gateway: Gateway) throws -> Int {
        try TestClient(address: gateway.deviceAddress).post("/logs/hello", #"{"a":1}"#.utf8).status
    }

    private func stop(_ gateway: Gateway) {
        gateway.stop(within: .zero)
    }

    private func end() {
        sandbox.stop()
        partner.stop()
    }

    @Test(
        "A credential that SLS takes is used from the next packet on, and shown without its secret"
    )
    func rotate() throws {
        defer { end() }
        let gateway = try gateway()
        defer { stop(gateway) }
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
        defer { end() }
        let gateway = try gateway()
        defer { stop(gateway) }
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
        defer { end() }
        let gateway = try gateway(
            .fixed(Credential(accessKeyID: "nobody", secret: Secret("canary-nobody")))
        )
        defer { stop(gateway) }
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
        defer { end() }
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { stop(gateway) }
            let answer = try ask(gateway, "PUT", Self.path, body(Self.second))
            #expect(answer.text.contains(#""stored":true"#), "\(answer.text)")
        }
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { stop(gateway) }
            #expect(gateway.keeper.credential(named: "default") == Self.second)
            let answer = try ask(gateway, "DELETE")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(gateway.keeper.credential(named: "default") == Self.first)
        }
        let gateway = try gateway(encryptionKey: Self.key)
        defer { stop(gateway) }
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
        defer { end() }
        let gateway = try gateway()
        defer { stop(gateway) }
        let answer = try ask(gateway, "PUT", Self.path, text)
        #expect(answer.status == status, "\(answer.text)")
        #expect(answer.text.contains(part), "\(answer.text)")
        #expect(try ask(gateway, "PUT", "/admin/credentials/other", body(Self.first)).status == 404)
        #expect(gateway.keeper.credential(named: "default") == Self.first)
    }

    @Test("A credential with an activation time is not used before it")
    func next() throws {
        defer { end() }
        let gateway = try gateway()
        defer { stop(gateway) }
        let answer = try ask(
            gateway,
            "PUT",
            Self.path,
            body(Self.second, #","Activation":"2100-01-01T00:00:00Z""#)
        )
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.text.contains(#""next":{"fingerprint""#))
        #expect(gateway.keeper.credential(named: "default") == Self.first)
    }

    @Test("After a restart a credential whose activation time has passed is in use")
    func activatedRestart() throws {
        defer { end() }
        let soon = (WallTime.now + .seconds(2)).rfc3339
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { stop(gateway) }
            #expect(try ask(gateway, "PUT", Self.path, body(Self.sts)).status == 200)
            let next = body(Self.second, #","Activation":"\#(soon)""#)
            #expect(try ask(gateway, "PUT", Self.path, next).status == 200)
            #expect(
                eventually { gateway.keeper.credential(named: "default") == Self.second }
            )
        }
        let gateway = try gateway(encryptionKey: Self.key)
        defer { stop(gateway) }
        #expect(gateway.keeper.credential(named: "default") == Self.second)
    }

    @Test("A pushed credential of a removed name can be forgotten")
    func gone() throws {
        defer { end() }
        do {
            let gateway = try gateway(encryptionKey: Self.key)
            defer { stop(gateway) }
            #expect(try ask(gateway, "PUT", Self.path, body(Self.second)).status == 200)
        }
        let gateway = try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["other"] = .admin
        }
        defer { stop(gateway) }
        #expect(try ask(gateway, "DELETE").status == 200)
        #expect(try ask(gateway, "DELETE", "/admin/credentials/nobody").status == 404)
        #expect(try gateway.store.recall().isEmpty)
    }

    @Test("The second of two rotations with the same If-Match version is refused, also with force")
    func versions() throws {
        defer { end() }
        let gateway = try gateway()
        defer { stop(gateway) }
        func put(_ credential: Credential, _ version: String, _ query: String = "") throws
            -> TestAnswer
        {
            try TestClient(address: gateway.adminAddress).send(
                "PUT",
                Self.path + query,
                Array(body(credential).utf8),
                [
                    "authorization": "Bearer \(SandboxedGateway.token)",
                    "content-type": "application/json",
                    "if-match": version,
                ]
            )
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
        let stale = try TestClient(address: gateway.adminAddress).send(
            "DELETE",
            Self.path,
            [],
            ["authorization": "Bearer \(SandboxedGateway.token)", "if-match": after]
        )
        #expect(stale.status == 412)
        #expect(gateway.keeper.credential(named: "default") == Self.sts)
    }

    @Test("One of several concurrent rotations with the same version succeeds")
    func concurrentVersions() throws {
        defer { end() }
        let gateway = try gateway()
        defer { stop(gateway) }
        let version = try #require(try ask(gateway, "GET")["etag"])
        let statuses = Locked<[Int]>([])
        let workers = try (0..<8).map { number in
            try Worker("rotator") {
                let credential = [Self.second, Self.sts][number % 2]
                let answer = try? TestClient(address: gateway.adminAddress).send(
                    "PUT",
                    Self.path + (number < 4 ? "" : "?force=true"),
                    Array(body(credential).utf8),
                    [
                        "authorization": "Bearer \(SandboxedGateway.token)",
                        "content-type": "application/json", "if-match": version,
                    ]
                )
                statuses.withLock { $0.append(answer?.status ?? 0) }
            }
        }
        for worker in workers { worker.join() }
        #expect(statuses.withLock { $0.sorted() } == [200] + [Int](repeating: 412, count: 7))
    }
}
