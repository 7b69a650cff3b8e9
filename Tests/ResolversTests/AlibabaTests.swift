import Crypto
import Net
import System
import Testing

@testable import Resolvers

/// Alibaba's HTTPDNS against the vectors of its documents and SDKs.
@Suite struct AlibabaTests {
    private static let time = WallTime(seconds: 1_893_456_000)
    /// Signatures end ten minutes after the query.
    private static let asked = WallTime(seconds: 1_893_456_000 - 600)
    private static let secret = "00112233445566778899aabbccddeeff"
    private static let aesKey = "0123456789abcdef0123456789abcdef"

    private static func account(
        secret: String? = nil,
        aesKey: String? = nil,
        _ change: (inout AlibabaAccount) -> Void = { _ in }
    ) -> AlibabaAccount {
        var account = AlibabaAccount(id: "100000")
        account.secret = secret.map { Secret($0) }
        account.aesKey = aesKey.map { Secret($0) }
        change(&account)
        return account
    }

    private static func parameters(_ request: ServerRequest) -> [String: String] {
        let query = request.target.split(separator: "?", maxSplits: 1).last ?? ""
        return Dictionary(
            uniqueKeysWithValues: query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                let value = percentDecodedText(Array((parts.count > 1 ? parts[1] : "").utf8)[...])
                return (String(parts[0]), value ?? "")
            }
        )
    }

    private static func answer(_ text: String, _ status: Int = 200) -> ServerAnswer {
        ServerAnswer(status: status, body: Array(text.utf8))
    }

    // MARK: - Version 1

    @Test(
        "Version 1 signs names, secret and time",
        arguments: [
            (
                "www.aliyun.com", "IAmASecret", "1534316400", "60c71e98b6d7fcbb366243e224eab457"
            ),
            (
                "cn-hangzhou.log.aliyuncs.com", "IAmASecret", "1893456000",
                "6bc97e752efbf6d5fd431c75a5692908"
            ),
            (
                "p1.cn-hangzhou.log.aliyuncs.com", "0123456789abcdef0123456789abcdef", "1893456000",
                "63bb3b658ec0858e4309135e0642a933"
            ),
            (
                "www.aliyun.com,www.taobao.com", "IAmASecret", "1534316400",
                "12a3f6b1b14a46ca813ca6439beb59a4"
            ),
            (
                "p1.cn-hangzhou.log.aliyuncs.com,p2.cn-hangzhou.log.aliyuncs.com", "IAmASecret",
                "1893456000", "c5f17e71fa15443f3bc2decc52cd7aff"
            ),
            ("abcdef2345", "123456", "1632912372", "de7be63a9f19cf11e9d455d7d4f23cb4"),
            ("0123456789abcdef", "IAmASecret", "1893456000", "967e168fd5eca46a0b45b0a0609be710"),
            ("00000000", "IAmASecret", "1893456000", "4baac4cfb1acb2e2b61998aefd38b713"),
        ]
    )
    func signatureV1(subject: String, secret: String, time: String, signature: String) {
        #expect(AlibabaAccount.signature(subject, Secret(secret), time) == signature)
    }

    @Test("A signed query has its end, its signature and both families")
    func queryV1() throws {
        let dialect = AlibabaV1(Self.account(secret: "IAmASecret"))
        let one = dialect.queries(for: ["cn-hangzhou.log.aliyuncs.com"], at: Self.asked)[0]
        #expect(one.target.hasPrefix("/100000/sign_d?host=cn-hangzhou.log.aliyuncs.com&"))
        let sent = Self.parameters(one)
        #expect(sent["t"] == "1893456000" && sent["query"] == "4,6")
        #expect(sent["s"] == "6bc97e752efbf6d5fd431c75a5692908")
        let two = ["p1.cn-hangzhou.log.aliyuncs.com", "p2.cn-hangzhou.log.aliyuncs.com"]
        let batch = dialect.queries(for: two, at: Self.asked)[0]
        #expect(batch.target.hasPrefix("/100000/sign_resolve?"))
        #expect(Self.parameters(batch)["s"] == "c5f17e71fa15443f3bc2decc52cd7aff")
        let plain = AlibabaV1(
            Self.account {
                $0.clientAddress = IPAddress("192.0.2.1")
                $0.parameters = ["app": "a1"]
            }
        ).queries(for: ["a.b"], at: Self.asked)[0]
        #expect(plain.target == "/100000/d?host=a.b&query=4%2C6&ip=192.0.2.1&sdns-app=a1")
    }

    @Test("The list of servers is asked for with a nonce and the present time")
    func listQuery() throws {
        let account = Self.account(secret: "IAmASecret")
        let query = account.listQuery(at: Self.time, nonce: "0123456789abcdef")
        let sent = Self.parameters(query)
        #expect(query.target.hasPrefix("/100000/ss?region=global&"))
        #expect(sent["n"] == "0123456789abcdef" && sent["t"] == "1893456000")
        #expect(sent["s"] == "967e168fd5eca46a0b45b0a0609be710")
    }

    @Test("Version 1 answers one host, or several, with either family in ips")
    func answersV1() throws {
        let dialect = AlibabaV1(Self.account())
        let one = try dialect.answers(
            in: Self.answer(
                #"{"host":"h.x","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":70,"origin_ttl":60}"#
            ),
            to: ["h.x"]
        )
        #expect(one["h.x"]?.addresses.map(\.description) == ["192.0.2.1", "2001:db8::1"])
        #expect(one["h.x"]?.timeToLive == .seconds(70))
        let batch = try dialect.answers(
            in: Self.answer(
                """
                {"dns":[{"host":"A.X.","ips":["192.0.2.1"],"type":1},
                {"host":"a.x","ips":["2001:db8::1"],"type":28,"ttl":9},
                {"host":"b.x","ips":[],"ttl":5},{"host":"other.x","ips":["192.0.2.9"]}]}
                """
            ),
            to: ["a.x", "b.x"]
        )
        #expect(batch["a.x"]?.v4?.timeToLive == .seconds(60))
        #expect(batch["a.x"]?.v6?.addresses.map(\.description) == ["2001:db8::1"])
        #expect(batch["b.x"]?.addresses.isEmpty == true && batch["other.x"] == nil)
        #expect(batch["b.x"]?.timeToLive == .seconds(5))
    }

    // MARK: - Version 2

    /// The parameters in a query, the initial vector, what is encrypted, and the signature.
    private static let queries: [(String, [(String, String)], String, String, String)] = [
        (
            "0", [("dn", "www.aliyun.com"), ("q", "4")], "", "",
            "75e72b5a3c524d5c4bbccf1d203482bba6ed3e465c7ea2340e8563b178ac7dc9"
        ),
        (
            "0", [("dn", "www.aliyun.com"), ("q", "4,6")], "", "",
            "d10eae87a152dc7c5dd324390666ff2b72ec8837ba7f8305d5885f8a98410e11"
        ),
        (
            "0",
            [
                ("dn", "p1.cn-hangzhou.log.aliyuncs.com,p2.cn-hangzhou.log.aliyuncs.com"),
                ("q", "4,6"),
            ], "", "", "2b5034e6f08f5d8db42f3c53cb740345f3cd39d95d42d190ea9286a5c3295e63"
        ),
        (
            "0", [("dn", "www.aliyun.com"), ("q", "4"), ("cip", "1.2.3.4")], "", "",
            "919af3ee8f24056ca1ddd5b78f58fddd30d4fa6d8781150d1e3b4b983ceb2f5d"
        ),
        (
            "0",
            [
                ("dn", "www.aliyun.com"), ("q", "4"), ("sdns-city", "hz"), ("sdns-app", "a1"),
            ], "", "", "e7f91ebecbf4392ab8b797fab0eed6333b87a13f4c3df55c3fb2211e35585e3b"
        ),
        (
            "1", [("dn", "www.aliyun.com"), ("q", "4")], "000102030405060708090a0b0c0d0e0f",
            "ac7b07eb57fcd89d208d42bdb9dff8a0665ab952023ab54b599ae324d5a199c6",
            "463a6738256eef1427b1ef9f90b4c9b4a353981c830e72b00ce67730ebab2285"
        ),
        (
            "1", [("dn", "www.aliyun.com"), ("q", "4,6")], "000102030405060708090a0b0c0d0e0f",
            "ac7b07eb57fcd89d208d42bdb9dff8a01fdf5e7dee5087ce031c2b318e45bfe07dc2e7b64fe57abac9d2"
                + "75397e38ae80",
            "80050f7889b05b20d56b66e14cf4c203f9a90cbbeb9ce94f7f2b0fadc9b990a6"
        ),
        (
            "1",
            [("dn", "p1.cn-hangzhou.log.aliyuncs.com"), ("q", "4,6"), ("cip", "1.2.3.4")],
            "000102030405060708090a0b0c0d0e0f",
            "f583c36806b76efce7719bd2ee737c1bfd191485f2fd6966aa6d8c0c4e468b5701d119479998031ef049"
                + "78a28cc2c2f1f9d53636e57383cdbc1e7754dda8e0cca23258e3c8a23b93adfe9e2fc1e36009",
            "25f31e0dfab2ddb6d688244e515a78f376cc0cbeafd1cad3ef7ad08fb5f303c7"
        ),
        (
            "2", [("dn", "www.aliyun.com"), ("q", "4")], "000102030405060708090a0b",
            "2ccb88158fd707939661b2a8acb33afdd9ba706083c1068ae35e4da3b6c7cc9ab3cd2e3310aae4e3bd23"
                + "9aba9d6c33",
            "c8e9abf6f73859010018bfa37d8499e4e06bc31aa5decff4e5a135c722d3006a"
        ),
        (
            "2", [("dn", "www.aliyun.com"), ("q", "4,6")], "000102030405060708090a0b",
            "2ccb88158fd707939661b2a8acb33afdd9ba706083c1068ae35e4da3b6c987568d9a9d18a1f8fef8945c"
                + "d84dd833f9e79f",
            "a3892ed9b6befa693174533e226580a37cfeba0dee8ade0d7960df2113469570"
        ),
        (
            "2",
            [("dn", "p1.cn-hangzhou.log.aliyuncs.com"), ("q", "4,6"), ("cip", "1.2.3.4")],
            "000102030405060708090a0b",
            "2ccb88158fd70794d038ffa7edb222e6d0ee7b609bcd46c7f55216edeb9cc41a932ac0bea0e368b877e0"
                + "ca6b05281a95fc6b0025abacf818ebe5b3013ace7f64644fc09e6e43463c0aa1d566a9977f01913a",
            "d7a5965bc5dbf45b4dba9453662066b1ee9ba8b47eefa04ae13074e40c568bdb"
        ),
    ]

    @Test("Version 2 encrypts and signs as the SDKs do", arguments: queries.indices)
    func queryV2(index: Int) throws {
        let (mode, content, vector, encrypted, signature) = Self.queries[index]
        let account = Self.account(
            secret: Self.secret,
            aesKey: mode == "0" ? nil : Self.aesKey
        ) { $0.encryption = mode == "1" ? .cbc : .gcm }
        let bytes = try #require(hexDecoded(Array(vector.utf8)[...]))
        let dialect = AlibabaV2(account) { count in
            #expect(count == bytes.count)
            return bytes
        }
        let sent = Self.parameters(dialect.query(of: content, at: Self.asked))
        #expect(sent["s"] == signature)
        #expect(sent["m"] == mode && sent["exp"] == "1893456000" && sent["v"] == "1.0")
        if mode == "0" {
            #expect(sent["enc"] == nil && sent["dn"] == content[0].1)
        } else {
            #expect(sent["enc"] == vector + encrypted && sent["dn"] == nil)
        }
    }

    private static let plainAnswer =
        #"{"cip":"9.9.9.9","answers":[{"dn":"www.aliyun.com","v4":{"ips":["192.0.2.10","192.0.2.11"],"#
        + #""ttl":60},"v6":{"ips":[],"ttl":60,"no_ip_code":"RRNotExist"}}]}"#
    private static let sealedCBC =
        "EBESExQVFhcYGRobHB0eH4IekF7ps90p69gYtVlRC4XgJ1Djl3ZJt4Tkf7YeJszFSOoq/8jnSjCgkt3y0bf30dj1CfOE"
        + "3w9d8qxP2B3GGIfz9P/dwErLg/jWC39ukdeIbHqSac5Dc+XZ4yrQJXjHCqVq9Ym90I38+I6eobfp53w9F94CGL2EQ+rR"
        + "/PRvjYn6gJOwdIKW5kGeW3hb5i5+byWxR78kygMKFvkQxEgo2ys="
    private static let sealedGCM =
        "EBESExQVFhcYGRobnq3UJSPCbPAtTuQCyJxTbLP8jb1yjE7Go7z74r9lEzyhr069eHPme00+5qNKiSWjUlPCa6MNMVhq"
        + "VpoR3adVpDRdSRlfbVC4Ic+juu/PW++OYIwVeegTEFHOnZXbeE/1P1sa2GVREE+nocGwSbsIXCzVm4s+Qu1KBPTzAYz6"
        + "z1Rq+PpAo4PFhgIxwGSVXmRDMSrg6Ak8ReNw3MXuIk4JsnrdtU40X7v7LCs="

    @Test(
        "The server decides which cipher an answer has",
        arguments: [
            "{\"code\":\"success\",\"mode\":1,\"data\":\"\(sealedCBC)\"}",
            "{\"code\":\"success\",\"mode\":\"1\",\"data\":\"\(sealedCBC)\"}",
            "{\"code\":\"success\",\"mode\":2,\"data\":\"\(sealedGCM)\"}",
        ]
    )
    func answersV2(text: String) throws {
        let dialect = AlibabaV2(Self.account(secret: Self.secret, aesKey: Self.aesKey))
        let found = try dialect.answers(in: Self.answer(text), to: ["www.aliyun.com"])
        let host = try #require(found["www.aliyun.com"])
        #expect(host.addresses.map(\.description) == ["192.0.2.10", "192.0.2.11"])
        #expect(host.v6 == FamilyAnswer([], timeToLive: .seconds(60)))
    }

    @Test(
        "An answer that cannot be opened, or is not sealed, is the server's failure",
        arguments: [
            "{\"code\":\"success\",\"mode\":0,\"data\":\(plainAnswer)}",
            "{\"code\":\"success\",\"data\":\(plainAnswer)}",
            "{\"code\":\"success\",\"mode\":1,\"data\":\"\(sealedGCM)\"}",
            "{\"code\":\"success\",\"mode\":2,\"data\":\"\(sealedCBC)\"}",
            "{\"code\":\"success\",\"mode\":2,\"data\":\"EBES\"}",
            "{\"code\":\"success\",\"mode\":7,\"data\":\"EBES\"}",
        ]
    )
    func sealedWrongly(text: String) {
        let dialect = AlibabaV2(Self.account(secret: Self.secret, aesKey: Self.aesKey))
        let failure = #expect(throws: QueryFailure.self) {
            try dialect.answers(in: Self.answer(text), to: ["www.aliyun.com"])
        }
        #expect(failure?.kind == .server && failure?.description.contains("aes_key") == true)
    }

    // MARK: - Refusals

    @Test(
        "Each code says whether asking again helps, and what to do",
        arguments: [
            ("MissingArgument", 400, QueryFailure.Kind.query), ("InvalidHost", 400, .query),
            ("TooManyHosts", 400, .query), ("SdnsNotSupported", 400, .account),
            ("SignatureExpired", 403, .clock), ("InvalidDuration", 403, .clock),
            ("InvalidSignature", 403, .account), ("UnsignedInterfaceDisabled", 403, .account),
            ("InvalidAccount", 403, .account), ("AccountNotExists", 403, .account),
            ("ServiceLevelDeny", 403, .server), ("LimitExceeded", 400, .quota),
            ("MethodNotAllowed", 405, .query), ("InternalError", 500, .server),
            ("SomethingNew", 400, .server),
        ]
    )
    func codes(code: String, status: Int, kind: QueryFailure.Kind) {
        let answer = Self.answer("{\"code\":\"\(code)\"}", status)
        let dialects: [any ResolverDialect] = [
            AlibabaV1(Self.account()), AlibabaV2(Self.account()),
        ]
        for dialect in dialects {
            let failure = #expect(throws: QueryFailure.self) {
                try dialect.answers(in: answer, to: ["h.x"])
            }
            #expect(failure?.kind == kind && failure?.code == code)
        }
        // Version 2 may tell the same with status 200.
        let failure = #expect(throws: QueryFailure.self) {
            try AlibabaV2(Self.account()).answers(
                in: Self.answer("{\"code\":\"\(code)\"}"),
                to: ["h.x"]
            )
        }
        #expect(failure?.kind == kind)
    }

    @Test(
        "What is no answer is the server's fault",
        arguments: [
            "", "[]", "{", "<html>", #"{"host":"h.x"}"#, #"{"host":"h.x","ips":"192.0.2.1"}"#,
            #"{"host":"h.x","ips":["192.0.2.1","x"]}"#, #"{"host":"h.x","ips":["2001:db8::1"]}"#,
            #"{"host":"h.x","ips":[1]}"#, #"{"dns":{}}"#,
        ]
    )
    func unreadable(text: String) {
        let failure = #expect(throws: QueryFailure.self) {
            try AlibabaV1(Self.account()).answers(in: Self.answer(text), to: ["h.x"])
        }
        #expect(failure?.kind == .server)
    }

    // MARK: - Servers

    @Test("A list of servers keeps the certificate's name, and an empty one is none")
    func servers() throws {
        let dialect = AlibabaV2(Self.account())
        let list = try dialect.list(
            in: Self.answer(
                #"{"service_ip":["203.0.113.1"],"service_ipv6":["2001:db8::5"]}"#
            )
        )
        #expect(list.map(\.name) == Array(repeating: "resolvers.httpdns.aliyuncs.com", count: 2))
        #expect(list.map { "\($0.address?.description ?? "")" } == ["203.0.113.1", "2001:db8::5"])
        for text in [#"{"service_ip":[]}"#, #"{"service_ip":["x"]}"#, "{}"] {
            #expect(throws: QueryFailure.self) { try dialect.list(in: Self.answer(text)) }
        }
        let plain = AlibabaV1(
            Self.account {
                $0.servers = [ResolverServer("http://127.0.0.1:8053")].compactMap(\.self)
            }
        )
        let moved = try plain.list(in: Self.answer(#"{"service_ip":["127.0.0.2"]}"#))
        #expect(moved.map(\.origin) == ["http://127.0.0.2:8053"])
        #expect(dialect.servers.count == 11 && dialect.servers[0].isEncrypted)
    }
}
