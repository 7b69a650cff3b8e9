import Configuration
import Crypto
import SLS
import System
import TestConfiguration
import TestSupport
import Testing
import Tokens

@testable import Ingest

/// Tokens in place of keys, over sockets. What is a good token is told in the room of tokens.
@Suite(.timeLimit(.minutes(10))) struct DeviceTokenTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let body = Array(#"{"a":1}"#.utf8)

    private func end(_ more: String = "") throws -> DeviceListener {
        try DeviceListener(
            """
            devices:
              keys: [ { name: plain, key: plain.with.dots-0123456789 } ]
              jwt:
                algorithm: HS256
                keys:
                  - { kid: all, secret: \(Self.secret) }
                  - { kid: some, secret: \(Self.secret)-2, destinations: [app], rate: 2/s }
                audience: logs
                \(more)
            \(DeviceListener.twoDestinations)
            """
        )
    }

    private func token(
        _ kid: String = "all",
        in time: Int64 = 600,
        _ more: String = "",
        secret: String = Self.secret
    ) -> String {
        func encoded(_ bytes: [UInt8]) -> String {
            Digest.base64(bytes).replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let header = #"{"alg":"HS256","kid":"\#(kid)"}"#
        let claims = #"{"aud":"logs","sub":"u-7","exp":\#(WallTime.now.seconds + time)\#(more)}"#
        let text = [header, claims].map { encoded(Array($0.utf8)) }.joined(separator: ".")
        return "\(text).\(encoded(Digest.hmacSHA256(key: Array(secret.utf8), text)))"
    }

    @Test("A token is shown wherever a key is, and counted by its key's name")
    func ways() throws {
        let end = try end()
        let token = token()
        let basic = Digest.base64(Array("any:\(token)".utf8))
        for (path, field) in [
            ("/logs/x", ("authorization", "Bearer \(token)")), ("/logs/x", ("x-sluice-key", token)),
            ("/logs/x", ("authorization", "Basic \(basic)")),
            ("/logs/x?key=\(token)", ("x-other", "1")),
        ] {
            let answer = try end.client.post(path, Self.body, [field.0: field.1])
            #expect(answer.status == 200, "\(answer.text)")
        }
        let plain: KeyValuePairs = ["x-sluice-key": "plain.with.dots-0123456789"]
        #expect(try end.client.post("/logs/x", Self.body, plain).status == 200)
        let counts = end.shared.door.counts.map { "\($0.name) \($0.taken[.requests])" }
        #expect(counts == ["plain 1", "jwt:all 4", "jwt:some 0"])
        #expect(end.shared.door.access.value.keys.tokens?.count == 1)
    }

    @Test("What is no good token is 401 before the body, and is not repeated")
    func refused() throws {
        let end = try end()
        let good = token()
        let parts = good.split(separator: ".")
        for (token, reason) in [
            (token(in: -61), "expired_token"), (token("none"), "untrusted_token"),
            (token(secret: Self.secret + "x"), "untrusted_token"),
            ("\(parts[0]).\(parts[1]).", "untrusted_token"), ("a.b.c", "unreadable_token"),
            (token("all", in: 600, #","aud":"logs""#), "unreadable_token"),
            (token("all", in: 600, #","nbf":99999999999"#), "unfit_token"),
            (String(repeating: "a", count: 8190) + "...", "unknown_key"),
            (String(repeating: "a", count: 8191) + "..", "unreadable_token"),
            ("a.b", "unknown_key"),
        ] {
            let before = end.shared.door.unknownSenders.first { $0.reason == reason }?.count
            let fields: KeyValuePairs = [
                "authorization": "Bearer \(token)", "content-length": "1000",
            ]
            let answer = try end.client.post("/logs/x", "".utf8, fields)
            #expect(answer.status == 401)
            #expect(answer["www-authenticate"] != nil)
            #expect(token.count < 6 || !answer.text.contains(token.prefix(30)))
            let after = end.shared.door.unknownSenders.first { $0.reason == reason }?.count
            #expect(after == before.map { $0 + 1 }, "\(reason) \(end.shared.door.unknownSenders)")
        }
        #expect(end.queue.identities.isEmpty)
    }

    @Test("What a key's tokens may is theirs together, and a claim may take from it")
    func rules() throws {
        let some = try end()
        let secret = Self.secret + "-2"
        let elsewhere: KeyValuePairs = [
            "host": "other-project.gateway.test", "x-sluice-key": token("some", secret: secret),
        ]
        #expect(try some.client.post("/logs/xx", Self.body, elsewhere).status == 403)
        for (user, status) in [("1", 200), ("2", 200), ("3", 429)] {
            let token = token("some", in: 600, #","jti":"\#(user)""#, secret: secret)
            let answer = try some.client.post("/logs/xx", Self.body, ["x-sluice-key": token])
            #expect(answer.status == status)
        }
        let claimed = try end("destinations_claim: to")
        for (claim, host, status) in [
            (#","to":["any"]"#, "my-project", 403), (#","to":["any"]"#, "other-project", 200),
            (#","to":"app any""#, "my-project", 200), ("", "my-project", 401),
        ] {
            let fields: KeyValuePairs = [
                "host": "\(host).gateway.test", "x-sluice-key": token("all", in: 600, claim),
            ]
            #expect(try claimed.client.post("/logs/xx", Self.body, fields).status == status)
        }
    }

    @Test("A reload takes other keys at once, also for tokens that were good before")
    func reloaded() throws {
        let end = try end()
        let field: KeyValuePairs = ["x-sluice-key": token()]
        #expect(try end.client.post("/logs/x", Self.body, field).status == 200)
        end.use([DeviceKey(name: "plain", secret: Secret(Self.secret))])
        #expect(try end.client.post("/logs/x", Self.body, field).status == 401)
    }

    @Test("A file with a public key is read, and mistakes are told at once without secrets")
    func settings() throws {
        let directory = TemporaryDirectory()
        let pem = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
            6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
            -----END PUBLIC KEY-----
            """
        let file = directory.file("key.pem", pem)
        func settings(_ jwt: String) throws -> DeviceSettings {
            try read(
                "devices:\n  jwt: \(jwt)\n\(DeviceListener.twoDestinations)",
                ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
            ).devices
        }
        let good = "{ algorithm: ES256, keys: [ { kid: a, file: \(file) } ], audience: [x, y] }"
        let devices = try settings(good)
        #expect(devices.tokens?.rules.audiences == ["x", "y"])
        #expect(try settings(good) == devices)
        #expect(devices.tokens?.names == ["jwt:a"])
        for (jwt, parts) in [
            ("{}", ["jwt.algorithm: is missing", "jwt.keys: is missing"]),
            (
                "{ algorithm: none, keys: [ { kid: a, secret: canary-0123456789 } ], leeway: 6m }",
                [
                    #"jwt.algorithm: "none" is not one of HS256, RS256, ES256"#,
                    "jwt.keys[0].secret: has 17 characters; give at least 32", "jwt.leeway: 6m",
                ]
            ),
            (
                "{ algorithm: RS256, keys: [ { kid: a, file: \(file) }, { kid: a, file: /none }, "
                    + "{ kid: b, secret: canary-0123456789-0123456789-0123456789 }, { file: \(file) } ] }",
                [
                    "jwt.keys[0].file: \(file) RS256 wants an RSA key of 2048 bits",
                    "jwt.keys[1].kid: a is in the list already",
                    "jwt.keys[1].file: /none cannot be read", "jwt.keys[2].file: is missing",
                    "jwt.keys[2].secret: is of no use for RS256", "jwt.keys[3].kid: is missing",
                ]
            ),
        ] {
            let error = #expect(throws: ConfigurationProblems.self) { try settings(jwt) }
            let text = try #require(error).description
            for part in parts { #expect(text.contains(part), "\(part) in \(text)") }
            #expect(!text.contains("canary"))
        }
    }
}
