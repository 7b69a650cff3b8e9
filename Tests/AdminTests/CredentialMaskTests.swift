import Configuration
import Crypto
import Foundation
import Ingest
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(10))) struct CredentialMaskTests {
    private static let key = "canary-key/0123+456789abcdef"
    private static let id = "canary-access-key-id"
    private static let reader = "canary-reader-0123456789abcdef"
    private static let token =
        "eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOiJwYXlsb2FkIn0.c2lnbmF0dXJlLWNhbmFyeQ"
    private static let signature = "canarysignature0123456789abcdef"

    private static let basic = Digest.base64(Array("user:\(key)".utf8))

    /// Every way in which a request shows a credential, to this gateway, to SLS or to a proxy in
    /// between.
    private static let ways: [(target: String, field: (name: String, value: String)?)] = {
        let fields: [(String, String)] = [
            ("x-sluice-key", key), ("X-Sluice-Key", token), ("authorization", "Bearer \(key)"),
            ("authorization", "Bearer \(token)"), ("authorization", "Splunk \(key)"),
            ("authorization", "Basic \(basic)"), ("authorization", "ApiKey \(key)"),
            ("authorization", "ApiKey \(basic)"), ("authorization", "LOG \(id):\(signature)"),
            (
                "authorization",
                "SLS4-HMAC-SHA256 Credential=\(id)/20260101/cn-x/sls/aliyun_v4_request,Signature=\(signature)"
            ),
            (
                "x-sluice-signature",
                "v1,key=phone,time=1,nonce=\(signature),body=\(signature),mac=\(signature)"
            ),
            ("x-acs-security-token", key),
            ("cookie", "sluice=\(signature); __Host-sluice=\(signature)"),
            ("proxy-authorization", "Basic \(basic)"), ("x-auth", signature),
            ("private-key", signature),
            ("x-amzn-oidc-data", token), ("x-anything", signature), (key, "x"),
            ("user-agent", "app \(key)"),
            ("referer", "https://shop.example/?k=\(token)"),
            ("referer", "https://u:\(signature)@shop.example/"),
            ("idempotency-key", key), ("content-md5", signature),
            ("x-log-content-sha256", signature),
            ("x-request-id", reader), ("x-forwarded-for", "\(key)"), ("host", "\(id).example"),
        ].filter { !$0.0.contains("/") }
        let query = percentEncoded(key)
        let targets = [
            "/logs/app?key=\(query)", "/logs/app?other=\(query)", "/logs/app?\(query)=1",
            "/logs/app?x=\(token)",
            "/logs/app?key=\(token)",
            "/nothing/\(key)",
            "/services/collector/raw?token=\(query)",
            "/logstores/app/track?APIVersion=0.6.0&key=\(query)&m=1",
            "/logstores/app/track?APIVersion=0.6.0&m=\(query)&n=\(token)",
            "/logs/app?Signature=\(signature)",
            "/_bulk?api_key=\(signature)", "/app-index/_doc/\(query)",
        ]
        return fields.map { ("/logs/app", (name: $0.0, value: $0.1)) } + targets.map { ($0, nil) }
    }()

    /// Requests that make a credential the name of a logstore or a topic, which status pages show.
    private static let labels = [key, id, reader].flatMap { value in
        ["/logs/\(percentEncoded(value))", "/logs/app?topic=\(percentEncoded(value))"]
    }

    private static let bodies: [String] = {
        let escaped = key.replacing("/", with: "\\/")
        return [key, token, reader, id, SandboxedGateway.token].flatMap { value in
            [
                #"{"m":"say \#(value) here"}"#, #"{"\#(value)":"1"}"#,
                #"{"m":{"deep":["\#(value)"]}}"#,
                #"{"broken \#(value)"#, "text \(value)\nand \(value)",
            ]
        } + [#"{"m":"\#(escaped)"}"#, #"{"broken \#(escaped)"#]
    }()

    private func trial(open: Bool) throws -> SandboxedGateway {
        try SandboxedGateway { configuration in
            configuration.admin.tokens = [
                NamedToken(name: "viewer", secret: Secret(Self.reader), role: .read)
            ]
            var phone = DeviceKey(name: "phone", secret: Secret(Self.key))
            phone.accessKeyID = Self.id
            configuration.devices.keys = open ? [] : [phone]
        }
    }

    private func expectHidden(_ shown: String, _ what: String) {
        for canary in [
            Self.key, Self.token, Self.reader, Self.id, Self.signature, Self.basic,
            SandboxedGateway.token,
        ] {
            for form in [canary, percentEncoded(canary), canary.replacing("/", with: "\\/")] {
                guard let place = shown.firstRange(of: form) else { continue }
                let around = shown[..<place.lowerBound].suffix(120)
                Issue.record("\(what) shows \(form) behind \(around)")
            }
        }
    }

    /// All that a token can see of captures, refusals and waiting logs.
    private func expectHidden(
        _ trial: SandboxedGateway,
        _ id: String,
        _ count: Int,
        _ token: String
    ) throws {
        let capture = "/admin/captures/\(id)"
        let records = (1...count).flatMap {
            ["\(capture)/records/\($0)", "\(capture)/records/\($0)/curl"]
        }
        let paths = [
            capture, "\(capture)/har", "\(capture)/export", "/admin/captures", "/admin/refusals",
            "/admin/queue/peek?destination=default&limit=100",
        ]
        try expectHidden(trial, paths + records, token)
    }

    private func expectHidden(
        _ trial: SandboxedGateway,
        _ paths: [String],
        _ token: String
    ) throws {
        for path in paths {
            let answer = try trial.admin.ask("GET", path, token: token)
            expectHidden(answer.text, path)
        }
    }

    @Test("No way to show a credential puts it before an operator", arguments: [true, false])
    func ways(open: Bool) throws {
        // Without keys, requests with them are accepted too; they keep the gateway's own secrets
        // known.
        let known = [Secret(Self.key), Secret(Self.id)]
        let trial = try trial(open: open)
        _ = try trial.admin.ask("POST", "/admin/destinations/default/pause")
        let tails = try [SandboxedGateway.token, Self.reader].map { token in
            try trial.admin.opened(
                sending:
                    "GET /admin/tail HTTP/1.1\r\nhost: h\r\nauthorization: Bearer \(token)\r\n\r\n"
            )
        }
        for tail in tails { #expect(tail.receives("as they are accepted")) }
        let id = try trial.startCapture(#"{"records":1000}"#)
        var sent = 0
        for way in Self.ways {
            var head = "POST \(way.target) HTTP/1.1\r\nconnection: close\r\ncontent-length: 9\r\n"
            if way.field?.name != "host" { head += "host: h\r\n" }
            if let field = way.field { head += "\(field.name): \(field.value)\r\n" }
            let connection = try trial.devices.opened(sending: "\(head)\r\n{\"m\":\"1\"}")
            let answer = String(decoding: connection.readToEnd(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1"), "\(way)")
            sent += 1
        }
        for body in Self.bodies {
            _ = try trial.devices.post("/logs/app", body.utf8, ["x-sluice-key": Self.key])
            sent += 1
        }
        for topic in [Self.key, Self.id, Self.reader, Self.token].map({ percentEncoded($0) }) {
            let path = "/logs/app?topic=\(topic)"
            _ = try trial.devices.post(path, #"{"m":"1"}"#.utf8, ["x-sluice-key": Self.key])
            sent += 1
        }
        for token in [SandboxedGateway.token, Self.reader] {
            let pages = ["/admin/status", "/admin/queue", "/admin/clients", "/metrics"]
            try expectHidden(trial, pages, token)
        }
        for label in Self.labels {
            _ = try trial.devices.post(label, #"{"m":"1"}"#.utf8, ["x-sluice-key": Self.key])
            sent += 1
        }
        // A client may begin its first line with a key.
        for word in [Self.key.replacing("/", with: ""), Self.reader, Self.token] {
            let line = "\(word) /logs/app HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
            _ = try trial.devices.opened(sending: line).readToEnd()
        }
        let last = try trial.devices.post(
            "/logs/last",
            #"{"m":"the end"}"#.utf8,
            ["x-sluice-key": Self.key]
        )
        #expect(last.status == 200)
        #expect(eventually { (try? trial.captureEntries(id).count) ?? 0 >= sent })
        for tail in tails {
            #expect(tail.receives("the end"))
            expectHidden(tail.unreadText, "the tail")
        }
        for token in [SandboxedGateway.token, Self.reader] {
            try expectHidden(trial, id, try trial.captureEntries(id).count, token)
        }
        #expect(known.count == 2)
    }

    @Test("A header field is shown only if its name is known to be harmless")
    func fields() throws {
        let trial = try SandboxedGateway()
        let id = try trial.startCapture()
        _ = try trial.devices.post(
            "/logs/app",
            #"{"m":"1"}"#.utf8,
            [
                "x-new-thing": "v1", "X-Private": "v2", "User-Agent": "app/1", "x-empty": "",
            ]
        )
        let record = try trial.object("/admin/captures/\(id)/records/1")
        let head = try #require(record["head"] as? [[String]])
        let values = Dictionary(head.map { ($0[0].lowercased(), $0[1]) }) { first, _ in first }
        #expect(values["user-agent"] == "app/1" && values["x-empty"] == "")
        #expect(values["x-new-thing"]?.hasPrefix("[redacted 2 bytes #") == true, "\(values)")
        #expect(values["x-private"]?.hasPrefix("[redacted 2 bytes #") == true)
    }

    @Test("A body that was read is shown as its logs where it has secrets")
    func bodies() throws {
        let trial = try SandboxedGateway()
        let id = try trial.startCapture()
        let harmless = #"{"key":"Enter","m":"shown"}"#
        for body in [#"{"pin":"canary","m":"shown"}"#, #"{"m":"shown"}"#, harmless] {
            #expect(try trial.devices.post("/logs/app", body.utf8).status == 200)
        }
        let path = "/admin/captures/\(id)"
        let record = try trial.object("\(path)/records/1")
        let body = try #require(record["body"] as? [String: Any])
        #expect(body["text"] is NSNull && body["sha256"] is NSNull)
        #expect((body["reason"] as? String)?.contains("its logs") == true)
        let logs = try #require(record["logs"] as? [[String: Any]])
        #expect((logs[0]["before"] as? [String: String])?["m"] == "shown")
        let other = try trial.object("\(path)/records/2")
        #expect((other["body"] as? [String: Any])?["text"] as? String == #"{"m":"shown"}"#)
        let third = try trial.object("\(path)/records/3")
        #expect((third["body"] as? [String: Any])?["text"] as? String == harmless)
        let archive = try trial.admin("\(path)/har").text
        #expect(archive.contains("shown") && !archive.contains("canary"))
    }
}
