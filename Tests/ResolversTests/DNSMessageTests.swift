import Crypto
import Net
import System
import Testing

@testable import Resolvers

/// DNS over HTTPS: the wire format of RFC 1035, and Alibaba's JSON.
@Suite struct DNSMessageTests {
    private static let name = "www.example.com"

    private static let doh = DoH(
        DoHSettings(
            server: ResolverServer(isEncrypted: true, name: "223.5.5.5"),
            path: "/dns-query"
        )
    )

    @Test("A query is 29 bytes and a name, and travels as base64 without padding")
    func query() {
        let wire = "00000100000100000000000003777777076578616d706c6503636f6d00"
        #expect(hex(DNSMessage.query(Self.name, .a) ?? []) == wire + "00010001")
        #expect(hex(DNSMessage.query(Self.name, .aaaa) ?? []) == wire + "001c0001")
        #expect(
            Self.doh.queries(for: [Self.name], at: .now).map(\.target) == [
                "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB",
                "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAHAAB",
            ]
        )
        let sls = Self.doh.queries(for: ["p1.cn-hangzhou.log.aliyuncs.com"], at: .now)[0].target
        #expect(
            sls == "/dns-query?dns="
                + "AAABAAABAAAAAAAAAnAxC2NuLWhhbmd6aG91A2xvZwhhbGl5dW5jcwNjb20AAAEAAQ"
        )
        for bad in ["", "a..b", "-a.b", String(repeating: "a", count: 64) + ".b", "1.2.3.4"] {
            #expect(DNSMessage.query(bad, .a) == nil)
        }
    }

    // MARK: - Answers

    /// Builds messages; a name is labels, or a pointer.
    private struct Message {
        var flags: UInt16 = 0x8180
        var question = DNSMessage.encoded(DNSMessageTests.name) ?? []
        var type: UInt16 = 1
        var answers: [[UInt8]] = []
        var authorities: [[UInt8]] = []

        var bytes: [UInt8] {
            func word(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
            return [0, 0] + word(Int(flags)) + word(1) + word(answers.count)
                + word(authorities.count) + [0, 0] + question + word(Int(type)) + [0, 1]
                + answers.flatMap(\.self) + authorities.flatMap(\.self)
        }

        static func record(
            _ type: Int,
            _ content: [UInt8],
            owner: [UInt8] = [0xc0, 12],
            ttl: [UInt8] = [0, 0, 0, 60]
        ) -> [UInt8] {
            owner + [0, UInt8(type), 0, 1] + ttl + [0, UInt8(content.count)] + content
        }
    }

    private func read(_ message: Message, _ type: DNSMessage.RecordType = .a) throws -> FamilyAnswer
    {
        try DNSMessage.answer(in: message.bytes, to: Self.name, type)
    }

    @Test("Addresses with the least TTL")
    func addresses() throws {
        var message = Message()
        message.answers = [
            Message.record(1, [192, 0, 2, 1]),
            Message.record(1, [192, 0, 2, 2], ttl: [0, 0, 0, 30]),
        ]
        let found = try read(message)
        #expect(found.addresses.map(\.description) == ["192.0.2.1", "192.0.2.2"])
        #expect(found.timeToLive == .seconds(30))
        var v6 = Message()
        v6.type = 28
        v6.answers = [
            Message.record(28, [0x20, 1, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [1])
        ]
        #expect(try read(v6, .aaaa).addresses.map(\.description) == ["2001:db8::1"])
    }

    @Test("A chain of aliases leads to the addresses, and strangers' records do not count")
    func aliases() throws {
        let alias = DNSMessage.encoded("edge.example.net") ?? []
        var message = Message()
        message.answers = [
            Message.record(5, alias, ttl: [0, 0, 0, 20]),
            Message.record(1, [192, 0, 2, 9], owner: alias),
            Message.record(1, [203, 0, 113, 1], owner: DNSMessage.encoded("evil.example") ?? []),
        ]
        let found = try read(message)
        #expect(found.addresses.map(\.description) == ["192.0.2.9"])
        #expect(found.timeToLive == .seconds(20))
    }

    @Test("A negative answer holds as long as its SOA says")
    func negative() throws {
        let names: [UInt8] = [0, 0]
        let numbers: [UInt8] = Array(repeating: 0, count: 16) + [0, 0, 0, 25]
        var message = Message()
        message.flags = 0x8183
        message.authorities = [Message.record(6, names + numbers)]
        #expect(try read(message) == FamilyAnswer([], timeToLive: .seconds(25)))
        message.authorities = []
        #expect(try read(message) == FamilyAnswer([], timeToLive: .zero))
    }

    @Test("At most sixteen addresses, a TTL with the highest bit is none")
    func bounds() throws {
        var message = Message()
        message.answers = (0..<40).map {
            Message.record(1, [192, 0, 2, UInt8($0)], ttl: [0x80, 0, 0, 9])
        }
        let found = try read(message)
        #expect(found.addresses.count == 16 && found.timeToLive == .zero)
    }

    @Test("What is no answer to the query is refused")
    func wrong() {
        var refused: [Message] = []
        for change: (inout Message) -> Void in [
            { $0.flags = 0x0100 }, { $0.flags = 0x8182 }, { $0.flags = 0x8185 },
            { $0.flags = 0x8980 },
            { $0.type = 28 }, { $0.question = DNSMessage.encoded("other.example") ?? [] },
            // A pointer to itself.
            { $0.question = [0xc0, 12] },
            { $0.answers = [[0xc0, 12, 0, 1]] },
            { $0.answers = [Message.record(1, [192, 0, 2, 1]).dropLast()] },
            // A name of more than 255 bytes.
            { $0.answers = [Array(repeating: [1, 97] as [UInt8], count: 200).flatMap(\.self)] },
        ] {
            var message = Message()
            change(&message)
            refused.append(message)
        }
        for message in refused { #expect(throws: QueryFailure.self) { try read(message) } }
        let whole = Message().bytes
        for count in 0..<whole.count {
            #expect(throws: QueryFailure.self) {
                try DNSMessage.answer(in: Array(whole.prefix(count)), to: Self.name, .a)
            }
        }
    }

    @Test("The server's answer tells its family, and Age shortens it")
    func doh() throws {
        var message = Message()
        message.answers = [Message.record(1, [192, 0, 2, 1])]
        let answer = ServerAnswer(status: 200, body: message.bytes, age: 50)
        let found = try Self.doh.answers(in: answer, to: [Self.name])
        #expect(found[Self.name]?.v4?.timeToLive == .seconds(10))
        #expect(found[Self.name]?.v6 == nil)
        for (status, kind) in [
            (400, QueryFailure.Kind.query), (403, .account), (429, .quota), (502, .server),
        ] {
            let failure = #expect(throws: QueryFailure.self) {
                try Self.doh.answers(
                    in: ServerAnswer(status: status, body: message.bytes),
                    to: [Self.name]
                )
            }
            #expect(failure?.kind == kind)
        }
    }

    // MARK: - Alibaba's JSON

    @Test(
        "The account's key is a digest of all that is signed",
        arguments: [
            (
                "9999", "secret", 1_614_927_253, "www.taobao.com", "test",
                "014416e802bab0eef31e47e627d081d2c82f6ebe4122240971012a328cf63c28"
            ),
            (
                "9999", "IAmASecret", 1_893_456_000, "p1.cn-hangzhou.log.aliyuncs.com", "LTAItest",
                "90018bcf280baca2d692e09517ca52776abc644333406d71db85bc904f6eefd1"
            ),
            (
                "100000", "s3cr3t", 1_893_456_000, "www.aliyun.com", "LTAItest",
                "fb449762379f11ba11b48e3abc1631df0ecbc5c92cfbefbdac6ae40ac54caf94"
            ),
        ]
    )
    func jsonKey(
        user: String,
        secret: String,
        time: Int64,
        name: String,
        key: String,
        digest: String
    ) {
        let settings = DoHSettings(
            server: ResolverServer(isEncrypted: true, name: "223.5.5.5"),
            path: "/resolve"
        )
        let account = AlibabaJSON.Account(user: user, key: key, secret: Secret(secret))
        let query = AlibabaJSON(settings, account)
            .queries(for: [name], at: WallTime(seconds: time))[0].target
        #expect(query.hasPrefix("/resolve?name=\(name)&type=1&uid=\(user)&ak=\(key)&ts=\(time)"))
        #expect(query.hasSuffix("&key=\(digest)"))
    }

    @Test("JSON answers of either family")
    func json() throws {
        let settings = DoHSettings(
            server: ResolverServer(isEncrypted: true, name: "223.5.5.5"),
            path: "/resolve"
        )
        let dialect = AlibabaJSON(settings, nil)
        func read(_ text: String) throws -> HostAnswer? {
            try dialect.answers(in: ServerAnswer(status: 200, body: Array(text.utf8)), to: ["a.b"])[
                "a.b"
            ]
        }
        let v4 = try read(
            """
            {"Status":0,"Question":{"name":"a.b.","type":1},"Answer":[{"name":"a.b.","TTL":20,"type":5,
            "data":"c.d."},{"name":"c.d.","TTL":60,"type":1,"data":"192.0.2.1"}]}
            """
        )
        #expect(v4?.v4?.addresses.map(\.description) == ["192.0.2.1"])
        #expect(v4?.timeToLive == .seconds(20))
        let v6 = try read(
            #"{"Status":0,"Question":[{"type":28}],"Answer":[{"TTL":9,"type":28,"data":"2001:db8::1"}]}"#
        )
        #expect(v6?.v6?.addresses.count == 1)
        #expect(try read(#"{"Status":3,"Question":{"type":1}}"#)?.addresses.isEmpty == true)
        for text in [
            #"{"Status":2}"#, #"{"code":"x"}"#, "[]",
            #"{"Status":0,"Answer":[{"type":1,"data":"2001:db8::1"}]}"#,
        ] {
            #expect(throws: QueryFailure.self) { try read(text) }
        }
    }
}
