import Crypto
import HTTP
import Ingest
import Logs
import System
import TestSupport
import Testing

@testable import SLS

/// Requests of SLS's SDKs that were given one of our keys as their AccessKey, over sockets.
@Suite(.timeLimit(.minutes(10))) struct AccessKeyTests {
    private static let path = "/logstores/app-log/shards/lb"
    private static let secret = "secret-0123456789abcdef"
    private static let key = Secret(secret)
    private let body: [UInt8]

    init() {
        var logs = EncodedLogs()
        let time = LogTime(seconds: UInt32(WallTime.now.seconds))
        logs.append(time: time, fields: [("a", "1")])
        body = logs.bytes
    }

    private func end(accept: String = "[key, sls]") throws -> DeviceListener {
        try DeviceListener(
            keys:
                "{ name: sdk, id: LTAIgateway1, key: \(Self.secret), accept: \(accept), destinations: [app] }",
            "{ name: plain, key: plain-0123456789abcdef }"
        )
    }

    private func strangers(_ end: DeviceListener) -> [String: Int] {
        Dictionary(
            uniqueKeysWithValues: end.shared.door.unknownSenders.map { ($0.reason, $0.count) }
        )
        .filter { $0.value > 0 }
    }

    /// As an SDK would have written it.
    private func fields(
        _ method: SigningMethod,
        id: String = "LTAIgateway1",
        secret: Secret = Self.key,
        host: String = "my-project.gateway.test",
        path: String = Self.path,
        at time: WallTime = .now
    ) -> KeyValuePairs<String, String> {
        var request = SLSRequest(
            method: "POST",
            path: path,
            headers: [
                .init("Host", host), .init("Content-Type", "application/x-protobuf"),
                .init("x-log-apiversion", "0.6.0"), .init("x-log-bodyrawsize", "\(body.count)"),
            ]
        )
        let credential = Credential(accessKeyID: id, secret: secret)
        request = request.signed(by: credential, method, body: [body[...]], at: time)
        let found = ["content-md5", "x-log-signaturemethod", "x-log-content-sha256", "x-log-date"]
            .map { request.header($0) }
        switch method {
        case .v1:
            return [
                "host": host, "content-type": "application/x-protobuf",
                "x-log-apiversion": "0.6.0", "x-log-bodyrawsize": "\(body.count)",
                "date": request.header("date"), "content-md5": found[0],
                "x-log-signaturemethod": found[1], "authorization": request.header("authorization"),
            ]
        case .v4:
            return [
                "host": host, "content-type": "application/x-protobuf",
                "x-log-apiversion": "0.6.0", "x-log-bodyrawsize": "\(body.count)",
                "x-log-content-sha256": found[2], "x-log-date": found[3],
                "authorization": request.header("authorization"),
            ]
        }
    }

    static let methods = [SigningMethod.v1, .v4(region: "cn-hangzhou")]

    @Test(
        "A key that was given out as an AccessKey sends with either signature",
        arguments: methods
    )
    func right(method: SigningMethod) throws {
        let end = try end()
        let answer = try end.client.post(Self.path, body, fields(method))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.queue.stored.count == 1)
        #expect(end.shared.door.counts.first { $0.name == "sdk" }?.taken[.logs] == 1)
        let elsewhere = "other-project.gateway.test"
        let refused = try end.client.post(
            Self.path,
            body,
            fields(method, host: elsewhere)
        )
        #expect(refused.status == 401)
        #expect(refused.text.contains("may not send"))
        #expect(strangers(end).isEmpty)
    }

    @Test("What is not right is refused before the body, in SLS's words", arguments: methods)
    func wrong(method: SigningMethod) throws {
        let end = try end()
        let old = WallTime.now + .seconds(-1000)
        for (fields, status, code) in [
            (fields(method, secret: Secret("another-0123456789")), 401, "SignatureNotMatch"),
            (fields(method, id: "LTAIother"), 401, "Unauthorized"),
            (fields(method, path: Self.path + "x"), 401, "SignatureNotMatch"),
            (fields(method, at: old), 400, "RequestTimeExpired"),
        ] {
            var head = "POST \(Self.path) HTTP/1.1\r\ncontent-length: \(body.count)\r\n"
            for (name, value) in fields { head += "\(name): \(value)\r\n" }
            // The body never comes.
            let answer = try end.client.exchange(Array((head + "connection: close\r\n\r\n").utf8))
            #expect(answer.status == status)
            #expect(answer.text.hasPrefix("{\"errorCode\":\"\(code)\""), "\(answer.text)")
            #expect(answer.body.count <= 255)
            #expect(!answer.text.contains("LTAI"))
        }
        #expect(end.queue.stored.isEmpty)
        #expect(
            strangers(end) == ["bad_signature": 2, "unknown_access_key": 1, "wrong_clock": 1]
        )
    }

    @Test("Another body under the signature is refused, and nothing is stored", arguments: methods)
    func body(method: SigningMethod) throws {
        let end = try end()
        var other = body
        other[other.count - 1] ^= 1
        let answer = try end.client.post(Self.path, other, fields(method))
        #expect(answer.status == 401)
        #expect(answer.text.hasPrefix(#"{"errorCode":"SignatureNotMatch""#), "\(answer.text)")
        #expect(strangers(end) == ["wrong_body": 1])
        #expect(end.queue.stored.isEmpty)
    }

    @Test("A shown key goes before a signature, and a signature of elsewhere is none")
    func beside() throws {
        let end = try end()
        let stale: KeyValuePairs = [
            "authorization": "LOG unknown:c2VjcmV0", "x-sluice-key": "plain-0123456789abcdef",
        ]
        #expect(try end.client.post(Self.path, body, stale).status == 200)
        let query = "?key=plain-0123456789abcdef"
        let unknown: KeyValuePairs = ["authorization": "LOG unknown:c2VjcmV0"]
        #expect(try end.client.post(Self.path + query, body, unknown).status == 200)
        let wrong: KeyValuePairs = ["authorization": "LOG LTAIgateway1:c2VjcmV0"]
        #expect(try end.client.post(Self.path + query, body, wrong).status == 401)
        #expect(end.shared.door.counts.first { $0.name == "plain" }?.taken[.requests] == 2)
    }

    @Test("A key is taken in the ways that it is meant for")
    func ways() throws {
        let shown: KeyValuePairs = ["x-sluice-key": Self.secret]
        let signedOnly = try end(accept: "sls")
        #expect(try signedOnly.client.post(Self.path, body, shown).status == 401)
        #expect(strangers(signedOnly) == ["unaccepted_way": 1])
        #expect(try signedOnly.client.post(Self.path, body, fields(.v1)).status == 200)
        let both = try end()
        #expect(try both.client.post(Self.path, body, shown).status == 200)
    }
}
