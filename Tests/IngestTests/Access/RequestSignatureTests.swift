import Crypto
import Foundation
import HTTP
import SLS
import System
import TestSupport
import Testing

@testable import Configuration
@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct RequestSignatureTests {
    private static let secret = "signing-0123456789abcdef"
    private static let nonce = "0123456789abcdefABCDEF_-"
    private static let time = WallTime(seconds: 1_736_843_400)
    private static let body = Array(#"{"level":"info","msg":"hello"}"#.utf8)
    private static let digest = Digest.sha256Hex(body)
    /// From `openssl dgst -sha256 -hmac`.
    private static let mac =
        "fd0052a6aecfadf7bbaf5a380b499ea19a16a5d28990b247aace75d97b2c2c41"
    private static let text =
        "v1,key=phone,time=1736843400,nonce=\(nonce),body=\(digest),mac=\(mac)"

    private func keys(_ window: Duration = .seconds(300), _ max: Int = 9) -> DeviceKeys {
        .made([DeviceKey(name: "phone", secret: Secret(Self.secret))]) {
            $0.hmac = .init(window: window, noncesMax: max)
        }
    }

    private func head(
        _ text: String = Self.text,
        _ line: String = "POST /logs/hello?a=b%20c",
        at time: WallTime = Self.time
    ) -> RequestHead {
        .made(line, [("x-sluice-signature", text), ("host", "any")], at: time)
    }

    @Test("What openssl signed is the key's, and asks for its body")
    func vector() throws {
        let proven = try #require(try keys().proven(head()))
        #expect(proven.sender.name == "phone")
        guard case .sha256(let digest) = proven.body else {
            Issue.record("no digest of the body")
            return
        }
        #expect(hex(digest) == Self.digest)
    }

    @Test("Nothing that is signed can be changed, and nothing left out")
    func mutations() {
        let keys = keys()
        let bytes = Array(Self.text.utf8)
        for index in bytes.indices {
            for byte in [bytes[index] ^ 1, UInt8(ascii: ","), UInt8(ascii: "0")]
            where byte != bytes[index] {
                var changed = bytes
                changed[index] = byte
                let text = String(decoding: changed, as: UTF8.self)
                #expect(problem(keys, head(text)) != nil, "\(text)")
            }
            let start = String(decoding: bytes[..<index], as: UTF8.self)
            #expect(problem(keys, head(start)) == .unreadableSignature, "\(start)")
        }
        for line in ["PUT /logs/hello?a=b%20c", "POST /logs/hello?a=b+c", "POST /logs/hello"] {
            #expect(problem(keys, head(Self.text, line)) == .badSignature)
        }
        for text in [
            "", Self.text + ",", Self.text + ",more=1", Self.text.uppercased(), " " + Self.text,
            Self.text.replacing("v1", with: "v2"), Self.text.replacing(",time", with: ", time"),
            Self.text.replacing("=17", with: "=+17"), Self.text.replacing("=17", with: "=00000017"),
            Self.text.replacing(Self.nonce, with: "short"),
            Self.text.replacing(Self.nonce, with: String(repeating: "n", count: 65)),
            Self.text.replacing(Self.nonce, with: "0123456789abcdef=="),
            Self.text.replacing(Self.mac, with: Self.mac.uppercased()),
        ] {
            #expect(problem(keys, head(text)) == .unreadableSignature, "\(text)")
        }
        #expect(problem(keys, head(Self.text.replacing("phone", with: "other"))) == .unknownKey)
    }

    @Test("The signed time counts within the window, either way")
    func window() {
        for (offset, expected) in [
            (-300, nil), (300, nil), (-301, AccessProblem.expired), (301, .expired),
        ] {
            let now = WallTime(seconds: Self.time.seconds + Int64(offset))
            #expect(problem(keys(), head(at: now)) == expected, "\(offset)")
        }
        let late = WallTime(seconds: Self.time.seconds + 301)
        #expect(problem(keys(.seconds(301)), head(at: late)) == nil)
        let year9999 = Self.text.replacing("=1736843400", with: "=99999999999")
        #expect(problem(keys(), head(year9999)) == .badSignature)
    }

    @Test("A nonce counts once until its time is out, and as many as there is room for")
    func nonces() {
        let memory = NonceMemory()
        func mark(_ text: String, _ name: String = "a") -> NonceMemory.Mark {
            NonceMemory.Mark(Array(name.utf8), Array(text.utf8))
        }
        func use(_ text: String, _ end: Int64, _ now: Int64, _ name: String = "a")
            -> AccessProblem?
        {
            memory.use(mark(text, name), until: end, now: now, room)
        }
        let room = FairShare(max: 3, holders: 1)
        #expect(use("1", 1300, 1000) == nil)
        #expect(use("1", 1301, 1000) == .replayed)
        #expect(use("1", 1300, 1000, "b") == nil)
        #expect(use("2", 1200, 1100) == nil)
        #expect(use("3", 1200, 1100) == .tooManyNonces)
        #expect(memory.check(mark("3"), now: 1100, room) == .tooManyNonces)
        #expect(memory.check(mark("1"), now: 1100, room) == .replayed)
        #expect(use("2", 1400, 1200) == .replayed)
        #expect(use("3", 1500, 1201) == nil)
        #expect(memory.count == 3)
        // A clock that goes back a little brings nothing back.
        #expect(use("2", 1200, 1190) == .expired)
        #expect(use("1", 1300, 1300) == .replayed)
        #expect(use("4", 1700, 1301) == nil)
        #expect(memory.count == 2)
        // One that goes back by hours is followed.
        #expect(use("5", 600, 500) == nil)
        #expect(memory.count == 3)
        #expect(use("6", 9000, 9000) == nil)
        #expect(memory.count == 1)
    }

    @Test("A key leaves room to the others, however many of them are greedy")
    func shares() {
        let memory = NonceMemory()
        let room = FairShare(max: 100, holders: 3)
        func fill(_ name: String, at now: Int64 = 1000) -> Int {
            var count = 0
            while true {
                let mark = NonceMemory.Mark(Array(name.utf8), Array("\(now) \(count)".utf8))
                let before = memory.check(mark, now: now, room)
                let outcome = memory.use(mark, until: now + 300, now: now, room)
                #expect(before == outcome)
                guard outcome == nil else { return count }
                count += 1
            }
        }
        let filled = ["a", "b", "c", "a"].map { fill($0) }
        #expect(filled == [42, 29, 23, 0])
        // Each has its own back with the time.
        #expect(fill("a", at: 1301) == 42)
        #expect(memory.count == 42)
    }

    private func end(
        _ more: String = "",
        budget: String = "",
        clock: ManualClock? = nil
    ) throws -> DeviceListener {
        try DeviceListener(
            """
            devices:
              keys:
                - { name: phone, key: \(Self.secret), accept: hmac\(budget) }
                \(more)
              hmac: { nonces: 2 }
            \(DeviceListener.twoDestinations)
            """,
            clock: clock
        )
    }

    private func signature(
        _ path: String,
        nonce: String,
        _ body: [UInt8] = Self.body,
        name: String = "phone",
        secret: String = Self.secret
    ) -> KeyValuePairs<String, String> {
        let start = "time=\(WallTime.now.seconds),nonce=\(nonce),body=\(Digest.sha256Hex(body))"
        let text =
            "POST\n\(path)\n"
            + start.split(separator: ",").map { $0.split(separator: "=")[1] }.joined(
                separator: "\n"
            )
        let mac = hex(Digest.hmacSHA256(key: Array(secret.utf8), text))
        return ["x-sluice-signature": "v1,key=\(name),\(start),mac=\(mac)"]
    }

    @Test("A key that has used its share up is refused before its body comes, and another is taken")
    func crowded() throws {
        let other = "another-0123456789abcdef"
        let end = try end("- { name: watch, key: \(other) }")
        let path = "/logs/hello"
        let first = signature(path, nonce: Self.nonce)
        #expect(try end.client.post(path, Self.body, first).status == 200)
        let signed = signature(path, nonce: Self.nonce + "2")[0].value
        let early: KeyValuePairs = ["x-sluice-signature": signed, "content-length": "1000"]
        let refused = try end.client.post(path, "".utf8, early)
        #expect(refused.status == 503 && refused.text.contains("devices.hmac.nonces"))
        let others = signature(path, nonce: Self.nonce, name: "watch", secret: other)
        #expect(try end.client.post(path, Self.body, others).status == 200)
        #expect(end.shared.door.nonces.count == 2)
    }

    /// The loop keeps what it found out about one head only, and looks at the other one again.
    @Test("Of two heads that come before their bodies each is proven, and charged once")
    func interleaved() throws {
        let clock = ManualClock()
        let end = try end(budget: ", rate: 2/m", clock: clock)
        let path = "/logs/hello"
        let bodies = [Self.body, Array(#"{"level":"warn","msg":"other"}"#.utf8)]
        let connections = try bodies.enumerated().map { number, body in
            var head = "POST \(path) HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
            head += "expect: 100-continue\r\ncontent-length: \(body.count)\r\n"
            for (name, value) in signature(path, nonce: "\(Self.nonce)\(number)", body) {
                head += "\(name): \(value)\r\n"
            }
            let connection = try end.client.opened(sending: head + "\r\n")
            // Then it was let in.
            #expect(connection.receives("100 Continue"))
            return connection
        }
        #expect(end.shared.door.nonces.count == 0)
        for (connection, body) in zip(connections, bodies) {
            connection.send(body)
            #expect(connection.receives("HTTP/1.1 200 "), "\(connection.unreadText)")
        }
        #expect(end.queue.stored.count == 2)
        #expect(end.shared.door.nonces.count == 2)
        #expect(end.shared.door.unknownSenders.allSatisfy { $0.count == 0 })
        let counts = end.shared.door.counts[0]
        #expect(counts.taken[.requests] == 2 && counts.refused == [:])
        // Both are charged: half a minute later there is room for one.
        clock.advance(.seconds(30))
        let budget = try #require(end.shared.door.access.value.keys.senders.first?.budget)
        #expect(throws: Never.self) { try budget.enter(0, .logs, at: clock.moment) }
        #expect(throws: Refusal.self) { try budget.enter(0, .logs, at: clock.moment) }
    }

    /// Worker threads have handlers of their own, which prove a large request again.
    @Test(
        "A request is taken once; others have a nonce of their own, as long as there is room",
        arguments: [false, true]
    )
    func replay(isLarge: Bool) throws {
        let body = isLarge ? [UInt8](repeating: 0x20, count: 2 << 20) + Self.body : Self.body
        let end = try end()
        let path = "/logs/hello"
        let signed = signature(path, nonce: Self.nonce, body)
        var wrong = body
        wrong[0] ^= 1
        // What could not be proven uses nothing up.
        let other = try end.client.post(path, wrong, signed)
        #expect(other.status == 401)
        #expect(other.text.contains("SignatureNotMatch"), "\(other.text)")
        #expect(end.shared.door.nonces.count == 0)
        #expect(try end.client.post(path, body, signed).status == 200)
        let again = try end.client.post(path, body, signed)
        #expect(again.status == 401)
        #expect(again.text.contains("nonce was used"), "\(again.text)")
        let forged = signature(path, nonce: Self.nonce + "2", body, secret: "another-0123456789")
        #expect(try end.client.post(path, body, forged).status == 401)
        let second = signature(path, nonce: Self.nonce + "2", body)
        #expect(try end.client.post(path, body, second).status == 200)
        let third = try end.client.post(path, body, signature(path, nonce: Self.nonce + "3", body))
        #expect(third.status == 503)
        #expect(third["retry-after"] != nil)
        let shown: KeyValuePairs = ["x-sluice-key": Self.secret]
        #expect(try end.client.post(path, body, shown).status == 401)
        #expect(end.queue.stored.count == 2)
        #expect((end.server.counters[.largeStarted] > 0) == isLarge)
        let strangers = end.shared.door.unknownSenders.filter { $0.count > 0 }
        #expect(
            strangers.map { "\($0.reason) \($0.count)" } == [
                "unaccepted_way 1", "bad_signature 1", "wrong_body 1", "replayed 1",
                "too_many_nonces 1",
            ]
        )
        #expect(end.shared.door.nonces.count == 2)
    }

    @Test("A forged signature is refused before the body comes")
    func early() throws {
        let end = try end()
        var head = "POST /logs/hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n"
        let forged = signature("/logs/hello", nonce: Self.nonce, secret: "another-0123456789")
        for (name, value) in forged { head += "\(name): \(value)\r\n" }
        let answer = try end.client.exchange(Array((head + "connection: close\r\n\r\n").utf8))
        #expect(answer.status == 401)
    }

    /// As the document has it, with a curl that shows what it was asked to send.
    @Test("The document's recipe signs what is taken")
    func recipe() throws {
        let end = try end()
        let text = try String(contentsOfFile: repositoryFile("docs/access.md"), encoding: .utf8)
        let found = try #require(
            text.split(separator: "```sh\n").first { $0.contains("openssl dgst -sha256 -mac") }
        )
        let recipe = try #require(found.split(separator: "```").first)
        let shell = try ChildProcess(
            ["/bin/sh", "-euc", "curl() { printf '%s\\036' \"$@\"; }\n" + recipe],
            environment: ["KEY": Self.secret, "PATH": "/usr/bin:/bin"],
            output: .pipe
        )
        let output = shell.output?.readAll() ?? ""
        #expect(shell.wait() == 0)
        let words = output.split(separator: "\u{1e}").map(String.init)
        let field = try #require(words.first { $0.hasPrefix("x-sluice-signature: ") })
        let data = try #require(words.firstIndex(of: "--data-binary"))
        let url = try #require(words.last.flatMap { URL(string: $0) })
        let sent: KeyValuePairs = [
            "x-sluice-signature": String(field.dropFirst("x-sluice-signature: ".count))
                .replacing("key=ios-app", with: "key=phone")
        ]
        let answer = try end.client.post(url.path, Array(words[data + 1].utf8), sent)
        #expect(answer.status == 200, "\(answer.text) of \(words)")
    }
}
