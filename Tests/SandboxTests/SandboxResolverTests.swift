import Crypto
import HTTP
import JSON
import Net
import System
import TestSupport
import Testing

@testable import Sandbox

/// The look-alikes of resolvers, asked with vectors that were made elsewhere.
@Suite struct SandboxResolverTests {
    private static let seconds: Int64 = 1_893_456_000

    /// A minute before the vectors end.
    private func sandbox(at time: Int64 = Self.seconds - 60, secret: String? = nil) throws
        -> Sandbox
    {
        try .forTests {
            $0.clock = { WallTime(nanoseconds: time * 1_000_000_000) }
            var accounts = ResolverAccounts(
                secret: Secret(secret ?? "00112233445566778899aabbccddeeff"),
                aesKey: Secret("0123456789abcdef0123456789abcdef"),
                tencentKey: Secret("0123456789abcdef"),
                token: Secret("t0k3n")
            )
            accounts.address = IPAddress("192.0.2.7")!
            $0.resolver = accounts
        }
    }

    private func addresses(_ value: JSONValue?) -> [String] {
        value?.elements?.compactMap(\.text) ?? []
    }

    // MARK: - Alibaba

    private static let host = "cn-hangzhou.log.aliyuncs.com"

    private func first(_ query: String, call: String = "sign_d", account: String = "100000") throws
        -> Response
    {
        try sandbox(secret: "IAmASecret").control("GET", "/\(account)/\(call)", query: query)
    }

    @Test("Version 1 takes a right signature")
    func v1() throws {
        let signed = "host=\(Self.host)&t=1893456000&s=6bc97e752efbf6d5fd431c75a5692908"
        let answer = try first(signed)
        #expect(answer.status == 200)
        #expect(addresses(answer.json?["ips"]) == ["192.0.2.7"])
        #expect(answer.json?["ttl"]?.wholeNumber == 60 && answer.json?["ipsv6"] == nil)
        // A query for both kinds, as one value, and what the signature does not cover.
        let both = try first(signed + "&query=4%2C6&ip=192.0.2.99&sid=abc")
        #expect(addresses(both.json?["ipsv6"]) == [])
        #expect(both.json?["client_ip"]?.text == "192.0.2.99")
    }

    @Test(
        "Version 1 refuses",
        arguments: [
            ("d", "100000", "host=a.b", 403, "UnsignedInterfaceDisabled"),
            ("sign_d", "100001", "host=a.b", 403, "InvalidAccount"),
            ("sign_d", "100000", "t=1893456000&s=0", 400, "MissingArgument"),
            ("sign_d", "100000", "host=a.b&t=1893456000&s=0", 403, "InvalidSignature"),
            ("sign_d", "100000", "host=a.b&t=x&s=0", 403, "InvalidDuration"),
            ("sign_d", "100000", "host=a.b&t=18446744073709551616&s=0", 403, "InvalidDuration"),
            // Right, but ended long ago.
            (
                "sign_d", "100000",
                "host=www.aliyun.com&t=1534316400&s=60c71e98b6d7fcbb366243e224eab457", 403,
                "SignatureExpired"
            ),
            ("ss", "100000", "n=abc&t=1893456000&s=0", 400, "MissingArgument"),
            ("ss", "100000", "n=0123456789abcdef&t=1893456000&s=0", 403, "InvalidSignature"),
        ]
    )
    func v1Refuses(call: String, account: String, query: String, status: Int, code: String) throws {
        let answer = try first(query, call: call, account: account)
        #expect(answer.status == status && answer.json?["code"]?.text == code)
    }

    @Test("A list of servers")
    func servers() throws {
        let answer = try first(
            "region=global&n=0123456789abcdef&t=1893456000&s=967e168fd5eca46a0b45b0a0609be710",
            call: "ss"
        )
        #expect(addresses(answer.json?["service_ip"]) == ["192.0.2.7"])
    }

    @Test(
        "Version 2 takes right signatures and opens what is encrypted",
        arguments: [
            "m=0&dn=www.aliyun.com&q=4,6&s=d10eae87a152dc7c5dd324390666ff2b72ec8837ba7f8305d5885f8a98410e11",
            "m=0&cip=1.2.3.4&dn=www.aliyun.com&q=4&s=919af3ee8f24056ca1ddd5b78f58fddd30d4fa6d8781150d1e3b4b983ceb2f5d",
            """
            m=1&enc=000102030405060708090a0b0c0d0e0fac7b07eb57fcd89d208d42bdb9dff8a01fdf5e7dee5087ce\
            031c2b318e45bfe07dc2e7b64fe57abac9d275397e38ae80\
            &s=80050f7889b05b20d56b66e14cf4c203f9a90cbbeb9ce94f7f2b0fadc9b990a6
            """,
            """
            m=2&enc=000102030405060708090a0b2ccb88158fd707939661b2a8acb33afdd9ba706083c1068ae35e4da3\
            b6c987568d9a9d18a1f8fef8945cd84dd833f9e79f\
            &s=a3892ed9b6befa693174533e226580a37cfeba0dee8ade0d7960df2113469570
            """,
        ]
    )
    func v2(query: String) throws {
        let sandbox = try sandbox()
        let whole = "id=100000&exp=1893456000&v=1.0&sid=x&" + query.replacing(",", with: "%2C")
        let answer = try sandbox.control("GET", "/v2/d", query: whole)
        #expect(answer.status == 200 && answer.json?["code"]?.text == "success", "\(answer.text)")
        if query.hasPrefix("m=0") {
            let found = answer.json?["data"]?["answers"]?.elements?.first
            #expect(addresses(found?["v4"]?["ips"]) == ["192.0.2.7"])
        } else {
            #expect(answer.json?["data"]?.text?.isEmpty == false)
        }
        // One changed parameter.
        let changed = whole.replacing("v=1.0", with: "v=1.1")
        let refused = try sandbox.control("GET", "/v2/d", query: changed)
        #expect(refused.status == 403 && refused.json?["code"]?.text == "InvalidSignature")
        let late = try self.sandbox(at: Self.seconds).control("GET", "/v2/d", query: whole)
        #expect(late.json?["code"]?.text == "SignatureExpired")
    }

    // MARK: - Tencent

    @Test(
        "Tencent's texts are opened and hidden with the account's key",
        arguments: [
            (
                "aes",
                "000102030405060708090a0b0c0d0e0f556fad2b1e6696ecb7b748a48d600025", 16
            ), ("des", "", 0),
        ]
    )
    func tencent(algorithm: String, name: String, skipped: Int) throws {
        let sandbox = try sandbox()
        let key = Array("0123456789abcdef".utf8)
        let name =
            name.isEmpty
            ? key[..<8].withUnsafeBytes {
                hex(BlockCipher.des.encrypt(Array("www.dnspod.cn".utf8), key: $0))
            } : name
        let query = "dn=\(name)&id=1&alg=\(algorithm)&ttl=1&clientip=1&query=1&type=addrs"
        let answer = try sandbox.control("GET", "/d", query: query)
        let bytes = try #require(hexDecoded(answer.body[...]))
        let cipher: BlockCipher =
            skipped > 0 ? .aes128CBC(initialVector: Array(bytes[..<skipped])) : .des
        let plain = key[..<cipher.keyBytes].withUnsafeBytes { key in
            cipher.decrypt(Array(bytes[skipped...]), key: key)
        }
        #expect(
            plain.map { String(decoding: $0, as: UTF8.self) }
                == "www.dnspod.cn.:192.0.2.7,60-0|127.0.0.1"
        )
    }

    @Test(
        "Tencent's strangers get an empty answer",
        arguments: ["dn=ab&id=2&alg=aes", "dn=a.b&token=x", "dn=a.b&id=1&alg=rsa"]
    )
    func tencentStranger(query: String) throws {
        let answer = try sandbox().control("GET", "/d", query: query)
        #expect(answer.status == 200 && answer.body.isEmpty)
    }

    @Test("A token needs no encryption; several hosts need query=1")
    func token() throws {
        let sandbox = try sandbox()
        let open = { (query: String) in
            try sandbox.control("GET", "/d", query: "token=t0k3n&\(query)").text
        }
        #expect(try open("dn=a.b") == "192.0.2.7")
        #expect(try open("dn=a.b,c.d") == "")
        #expect(try open("dn=a.b,c.d&query=1&type=aaaa") == "a.b.:0\nc.d.:0")
        #expect(
            try sandbox.control("GET", "/conf", query: "token=t0k3n").text.contains("192.0.2.7")
        )
        let late = try sandbox.control("GET", "/d", query: "token=t0k3n&dn=a.b%3B1893455000")
        #expect(late.status == 401)
    }

    // MARK: - DNS over HTTPS

    private static let question = "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB"

    @Test("A message of RFC 8484 is answered")
    func message() throws {
        let sandbox = try sandbox()
        let answer = try sandbox.control("GET", "/dns-query", query: "dns=\(Self.question)")
        #expect(answer.field("content-type") == "application/dns-message")
        #expect(
            hex(answer.body)
                == "00008180000100010000000003777777076578616d706c6503636f6d0000010001"
                + "c00c000100010000003c0004c0000207"
        )
        let six = Self.question.replacing("AAAQAB", with: "AAHAAB")
        let none = try sandbox.control("GET", "/dns-query", query: "dns=\(six)")
        // No error and no address, but a record that says for how long.
        #expect(hex(none.body.prefix(12)) == "000081800001000000010000")
        let away = #"{"host":"www.example.com","addresses":[]}"#
        #expect(try sandbox.control("POST", "/names", away).status == 200)
        let unknown = try sandbox.control("GET", "/dns-query", query: "dns=\(Self.question)")
        #expect(hex(unknown.body.prefix(4)) == "00008183")
    }

    @Test("No part of a message is taken for a question")
    func cutMessages() throws {
        let whole = try #require(base64Decoded(Array(Self.question.utf8)[...], .url))
        for count in whole.indices {
            #expect(throws: SLSRefusal.self) { try DNSQuestion(Array(whole[..<count])) }
        }
        #expect(throws: SLSRefusal.self) { try DNSQuestion(whole + [0]) }
        var random = TestSupport.SeededRandom(seed: 7)
        for _ in 0..<2000 {
            var changed = whole
            changed[Int.random(in: whole.indices, using: &random)] = .random(
                in: 0...255,
                using: &random
            )
            _ = try? DNSQuestion(changed)
        }
    }

    @Test("Alibaba's JSON, with and without an account")
    func json() throws {
        let sandbox = try sandbox(secret: "IAmASecret")
        let ask = { (query: String) in
            try sandbox.control("GET", "/resolve", query: query)
        }
        let answer = try ask("name=a.b&type=A").json
        #expect(answer?["Answer"]?.elements?.first?["data"]?.text == "192.0.2.7")
        #expect(try ask("name=a.b&short=1").text == #"["192.0.2.7"]"#)
        #expect(try ask("name=a.b&type=MX").status == 400)
        #expect(try ask("name=a.b&uid=1&ak=x&ts=1893456000&key=0").status == 403)
        #expect(try ask("name=a.b&uid=100000&ak=x&ts=1893456000&key=0").status == 403)
    }

    // MARK: - Faults

    @Test("Resolvers fail on request, and SLS's faults pass them by")
    func faults() throws {
        let sandbox = try sandbox()
        func ask() throws -> Response {
            try sandbox.control("GET", "/resolve", query: "name=a.b&short=1")
        }
        func fault(_ json: String) throws {
            #expect(try sandbox.control("POST", "/faults", json).status == 200)
        }
        try fault(#"{"status":503}"#)
        #expect(try ask().status == 200)
        try fault(#"{"resolver":"alibaba","code":"LimitExceeded"}"#)
        #expect(try ask().status == 200)
        try fault(#"{"resolver":"doh","addresses":["10.0.0.1","::1"],"count":1}"#)
        #expect(try ask().text == #"["10.0.0.1"]"#)
        try fault(#"{"resolver":"any","addresses":[],"pad_bytes":5,"count":1}"#)
        #expect(try ask().text == "[]     ")
        try fault(#"{"resolver":"doh","status":500,"count":1}"#)
        #expect(try ask().status == 500)
        let listed = try sandbox.control("GET", "/faults").text
        #expect(listed.contains(#""resolver":"alibaba","status":400,"code":"LimitExceeded""#))
        let limit = try sandbox.control("GET", "/100000/d", query: "host=a.b")
        #expect(limit.status == 400 && limit.json?["code"]?.text == "LimitExceeded")
        #expect(try sandbox.put(TestWrite()).status == 503)
    }

    @Test(
        "Faults that make no sense are refused with the reason",
        arguments: [
            #"{"addresses":["10.0.0.1"]}"#, #"{"resolver":"dns","reset":true}"#,
            #"{"resolver":"doh","addresses":["x"]}"#, #"{"pad_bytes":5,"reset":true}"#,
            #"{"resolver":"doh","project":"p","reset":true}"#, #"{"resolver":"doh"}"#,
        ]
    )
    func refusedFaults(json: String) throws {
        #expect(try sandbox().control("POST", "/faults", json).status == 400)
    }

    @Test("Names are set, listed and removed")
    func names() throws {
        let sandbox = try sandbox()
        let set = #"{"host":"A.b.","addresses":["192.0.2.1","2001:db8::1"],"ttl":5}"#
        #expect(try sandbox.control("POST", "/names", set).status == 200)
        #expect(
            try sandbox.control("GET", "/names").text.contains(
                #"{"host":"a.b","addresses":["192.0.2.1","2001:db8::1"],"ttl":5}"#
            )
        )
        #expect(
            try sandbox.control("GET", "/resolve", query: "name=a.b&type=AAAA&short=1").text
                == #"["2001:db8::1"]"#
        )
        #expect(try sandbox.control("DELETE", "/names").json?["removed"]?.wholeNumber == 1)
        for bad in [
            #"{"host":"a b","addresses":[]}"#, #"{"host":"a.b"}"#,
            #"{"host":"a.b","addresses":[1]}"#,
        ] {
            #expect(try sandbox.control("POST", "/names", bad).status == 400)
        }
    }

    @Test("Without --resolver there is none")
    func absent() throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.control("GET", "/resolve", query: "name=a.b").status != 200)
    }
}
