import Crypto
import Net
import SLS
import System
import TestGateway
import TestSupport
import Testing
import Tokens

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Ingest
@testable import Operations

/// No secret by which senders are known comes out anywhere, whatever way it is used and refused.
@Suite(.timeLimit(.minutes(1))) struct SenderSecrecyTests {
    private static let key = "canary-of-hmac-0123456789"
    private static let tokenSecret = "canary-of-tokens-0123456789abcdef"
    private static let body = Array(#"{"a":1}"#.utf8)

    private func shown(_ value: some Any) -> String {
        var text = "\(value) \(String(reflecting: value)) "
        dump(value, to: &text)
        return text
    }

    private func signature(_ secret: String) -> String {
        let fields = ["\(WallTime.now.seconds)", hex(randomBytes(16)), Digest.sha256Hex(Self.body)]
        let text = (["POST", "/logs/hello"] + fields).joined(separator: "\n")
        let mac = hex(Digest.hmacSHA256(key: Array(secret.utf8), text))
        return "v1,key=phone,time=\(fields[0]),nonce=\(fields[1]),body=\(fields[2]),mac=\(mac)"
    }

    private func token(_ secret: String) -> String {
        func encoded(_ bytes: [UInt8]) -> String {
            Digest.base64(bytes).replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let claims = #"{"sub":"canary","exp":\#(WallTime.now.seconds + 600)}"#
        let text = [#"{"alg":"HS256","kid":"app"}"#, claims].map { encoded(Array($0.utf8)) }
            .joined(separator: ".")
        return "\(text).\(encoded(Digest.hmacSHA256(key: Array(secret.utf8), text)))"
    }

    @Test("Metrics, admin pages, answers, the journal and descriptions show no sender secret")
    func hidden() throws {
        let said = Locked<[String]>([])
        let journal = Journal(level: .debug, format: .json) { line in
            said.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
        let key = TokenKey(id: "app", .secret(Secret(Self.tokenSecret)))
        let tokens = DeviceTokens(
            rules: TokenRules(algorithm: .hs256, keys: [key]),
            senders: [SenderRules()]
        )
        let keys = [DeviceKey(name: "phone", secret: Secret(Self.key))]
        let gateway = try SandboxedGateway.gateway(sandbox, directory, journal: journal) {
            $0.devices.keys = keys
            $0.devices.tokens = tokens
        }
        defer { gateway.stop(within: .zero) }
        let devices = TestClient(address: gateway.deviceAddress)
        var texts: [String] = []
        var secrets = ["canary"]
        for (name, value, status) in [
            ("x-sluice-signature", signature(Self.key), 200),
            ("x-sluice-signature", signature(Self.key + "-wrong"), 401),
            ("x-sluice-signature", Self.key, 401),
            ("authorization", "Bearer \(token(Self.tokenSecret))", 200),
            ("authorization", "Bearer \(token(Self.tokenSecret + "-wrong"))", 401),
            ("authorization", "Bearer \(Self.tokenSecret)", 401),
            ("authorization", "ApiKey \(Self.key)", 200), ("x-sluice-key", Self.key + "x", 401),
        ] {
            let answer = try devices.post("/logs/hello", Self.body, [name: value])
            #expect(answer.status == status, "\(name) \(answer.text)")
            texts.append("\(answer.fields) \(answer.text)")
            // What was shown is as good as the secret for a while.
            secrets.append(String(value.suffix(40)))
        }
        let admin = TestClient(address: gateway.adminAddress)
        let bearer: KeyValuePairs = ["authorization": "Bearer \(SandboxedGateway.token)"]
        for path in [
            "/metrics", "/admin/status", "/admin/audit", "/admin/queue", "/admin/dead-letters",
            "/admin/destinations", "/admin/credentials",
        ] {
            let answer = try admin.get(path, bearer)
            #expect(answer.status == 200, "\(path)")
            texts.append(answer.text)
        }
        #expect(texts.contains { $0.contains(#"key="jwt:app""#) })
        var settings = DeviceSettings()
        (settings.keys, settings.tokens) = (keys, tokens)
        let table = DeviceKeys(settings, bodyBytesMax: 1 << 20, nonces: NonceMemory())
        texts += [shown(table), shown(gateway.report)] + said.withLock { $0 }
        for text in texts {
            for secret in secrets where text.contains(secret) {
                Issue.record("\(secret) in \(text.prefix(300))")
            }
        }
    }
}
