import Configuration
import Crypto
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(1))) struct AdminAccessTests {
    private static let looker = String(repeating: "l", count: 32)

    private func trial() throws -> SandboxedGateway {
        try SandboxedGateway {
            $0.admin.tokens = [
                NamedToken(name: "grafana", secret: Secret(Self.looker), role: .read),
                NamedToken(
                    name: "cron",
                    secret: Secret(String(repeating: "c", count: 32)),
                    role: .full
                ),
            ]
        }
    }

    private func bearer(_ token: String) -> KeyValuePairs<String, String> {
        ["authorization": "Bearer \(token)"]
    }

    @Test("A token with role read may read everything and change nothing")
    func looking() throws {
        let trial = try trial()
        for path in ["/metrics", "/admin/status", "/admin/dead-letters", "/admin/audit"] {
            #expect(try trial.admin.get(path, bearer(Self.looker)).status == 200)
        }
        let refused = try trial.admin.post(
            "/admin/dead-letters/purge?all=true",
            [UInt8](),
            bearer(Self.looker)
        )
        #expect(refused.status == 403)
        #expect(refused.text.contains("may only read"))
    }

    @Test(
        "One token takes half of the places, readers three quarters; a place comes back by itself"
    )
    func places() throws {
        let readers = ["a", "b"].map { String(repeating: $0, count: 32) }
        let keys = AdminKeys(
            main: Secret(SandboxedGateway.token),
            named: readers.map {
                NamedToken(name: String($0.prefix(1)), secret: Secret($0), role: .read)
            }
        )
        func holder(_ token: String) throws -> AdminHolder {
            try #require(keys.holder(of: "Bearer \(token)".utf8))
        }
        let places = AdminPlaces(8)
        func taken(_ token: String) throws -> [AdminPlaces.Place] {
            let holder = try holder(token)
            return (0..<8).compactMap { _ in places.take(for: holder) }
        }
        var ofFirst = try taken(readers[0])
        let ofSecond = try taken(readers[1])
        let ofMain = try taken(SandboxedGateway.token)
        #expect((ofFirst.count, ofSecond.count, ofMain.count) == (4, 2, 2))
        ofFirst.removeLast()
        #expect(try taken(SandboxedGateway.token).count == 1)
        withExtendedLifetime((ofFirst, ofSecond, ofMain)) {}
    }

    @Test("The audit log has each change with the name of its token")
    func audited() throws {
        let trial = try trial()
        try trial.bury(3)
        let token = String(repeating: "c", count: 32)
        let purged = try trial.admin.post(
            "/admin/dead-letters/purge?all=true",
            [UInt8](),
            bearer(token)
        )
        #expect(purged.text.contains(#""purged":3"#), "\(purged.text)")
        #expect(eventually { (try? trial.admin("/admin/audit").text.contains("purge")) == true })
        let page = try trial.admin("/admin/audit").text
        for part in [
            #""actor":"cron""#, #""address":"127.0.0.1""#, #""action":"purge""#,
            #""subject":"dead letters all""#, #""after":"3 letters""#,
        ] {
            #expect(page.contains(part), "\(part) in \(page)")
        }
        #expect(!page.contains(token))
        let audit = try trial.admin("/admin/audit").text
        #expect(audit.contains(#""subject":"dead letters all","before":"","after":"3 letters""#))
    }

    @Test("An address that guesses tokens is throttled, also with the right one; others are not")
    func guessing() throws {
        let trial = try trial()
        var guesser = trial.admin
        guesser.source = "127.0.0.9"
        for number in 1...5 {
            #expect(try guesser.get("/metrics", bearer("wrong \(number)")).status == 401)
        }
        let waiting = try guesser.get("/metrics", bearer("wrong 6"))
        #expect(waiting.status == 429)
        #expect(waiting["retry-after"] != nil)
        #expect(try guesser.get("/metrics", bearer(SandboxedGateway.token)).status == 429)
        #expect(try trial.admin("/metrics").status == 200)
        #expect(try guesser.get("/healthz").status == 200)
    }

    @Test("A body without Content-Type: application/json is refused")
    func contentType() throws {
        let trial = try trial()
        try trial.bury(1)
        let answer = try trial.admin.send(
            "PUT",
            "/admin/dead-letters/1",
            Array(#"{"a":1}"#.utf8),
            ["authorization": "Bearer \(SandboxedGateway.token)", "content-type": "text/plain"]
        )
        #expect(answer.status == 415)
    }

    @Test("A reload adds and removes named tokens")
    func reload() throws {
        let trial = try trial()
        var changed = trial.gateway.configuration.withLock { $0 }
        changed.admin.tokens = []
        trial.gateway.reload(changed)
        #expect(try trial.admin.get("/metrics", bearer(Self.looker)).status == 401)
        #expect(try trial.admin("/metrics").status == 200)
    }
}
