import HTTP
import Ingest
import Operations
import System
import TestGateway
import TestHTTP
import TestSupport
import Testing
import Tokens

@testable import Configuration
@testable import Gateway

/// A gateway that fetches the keys of `devices.jwt` from an issuer.
@Suite(.timeLimit(.minutes(10))) struct TokenKeysTests {
    private static let body = Array(#"{"a":1}"#.utf8)

    @Test("Tokens are answered 503 until their issuer's keys were fetched")
    func away() throws {
        let (first, second) = (TokenIssuer("issuer-5"), TokenIssuer("issuer-6"))
        let isAway = Locked(true)
        let server = try TokenIssuer.server {
            isAway.withLock { $0 } ? Response(status: 500) : TokenIssuer.keySet(first)
        }
        defer { server.stop() }
        let source = TokenKeySource(
            name: "login",
            url: "\(server.url)/jwks.json",
            authorities: TestCertificates.shared.certificate("authority")
        )
        let trial = try SandboxedGateway {
            $0.devices.tokens = DeviceTokens(
                rules: TokenRules(algorithm: .rs256, keys: []),
                sources: [source],
                senders: [SenderRules(rate: Allowance(2, per: .hour))]
            )
        }
        let token = try first.token()
        func post(_ token: String) throws -> TestAnswer {
            try trial.devices.post("/logs/app", Self.body, ["authorization": "Bearer \(token)"])
        }
        let early = try post(token)
        #expect(early.status == 503, "\(early.text)")
        #expect(early["retry-after"] == "5")
        #expect(eventually { trial.gateway.report.senders.tokenKeys.first?.keys.problem != nil })
        let status = try trial.admin("/admin/status").text
        #expect(status.contains(#""problem":"it answers 500""#), "\(status)")
        isAway.withLock { $0 = false }
        #expect(eventually { trial.gateway.report.senders.tokenKeys.first?.keys.keys == 1 })
        #expect(try post(token).status == 200)
        // All keys of an issuer share the budget of its entry.
        #expect(try post(token).status == 200)
        #expect(try post(token).status == 429)
        // The next fetch may bring an unknown key.
        #expect(try post(try second.token()).status == 503)
        #expect(try post(token + "A").status == 401)
        let page = try trial.admin("/metrics").text
        for line in [
            #"sluice_device_key_requests_total{key="jwt:login"} 2"#,
            #"sluice_device_token_keys{source="login"} 1"#,
            #"sluice_device_token_keys_fetches_total{source="login",outcome="fetched"} 1"#,
            #"sluice_device_strangers_total{reason="token_keys_awaited"} 2"#,
        ] {
            #expect(page.contains(line + "\n"), "\(line)")
        }
        #expect(page.contains(#"sluice_device_token_keys_age_seconds{source="login"} "#))
        // A reload keeps the keys: no request waits for the issuer again.
        isAway.withLock { $0 = true }
        trial.gateway.reload { $0.devices.tokens?.senders = [SenderRules()] }
        #expect(try post(token).status == 200)
        #expect(server.requests.allSatisfy { $0.path == "/jwks.json" && $0.method == .get })
    }
}
