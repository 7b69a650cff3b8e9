import Crypto
import Net
import System
import Testing

@testable import Resolvers

/// Tencent's HTTPDNS against the vectors of its documents and SDKs.
@Suite struct TencentTests {
    private static let vector = (0..<16).map { UInt8($0) }

    private static func des(_ key: String = "dnspodpass") -> Tencent {
        Tencent(TencentAccount(.des(id: "1", key: Secret(key))))
    }

    private static func aes() -> Tencent {
        Tencent(TencentAccount(.aes(id: "1", key: Secret("0123456789abcdef")))) { _ in vector }
    }

    private static let plain = Tencent(TencentAccount(.token(Secret("987"))))

    private static func answer(_ text: String, _ status: Int = 200) -> ServerAnswer {
        ServerAnswer(status: status, body: Array(text.utf8))
    }

    @Test(
        "DES in both directions",
        arguments: [
            ("www.dnspod.cn", "87ae992c1321f299da3c0210a9900ae7"),
            ("cloud.tencent.com", "b7d5235b9769de4b27c432d445af2e04d5a8735a0cdc5926"),
            ("1.2.3.4", "cf153ecae28a3e4f"),
            (
                "cloud.tencent.com,www.qq.com,www.dnspod.cn",
                "b7d5235b9769de4b27c432d445af2e04f8df75d7870a9b99d940ff1f3351c6f7f4beb8ec6d9b194f895c"
                    + "e2a95ec50f35"
            ),
            (
                "p1.cn-hangzhou.log.aliyuncs.com",
                "7ef8d1c6648bcf567da0c1d019cf7a50c6d7242b69f6f0a7603f7761150fe9ea"
            ),
            (
                "p1.cn-hangzhou.log.aliyuncs.com;1893456000",
                "7ef8d1c6648bcf567da0c1d019cf7a50c6d7242b69f6f0a7e526a77051d6e0b619846c67204043298ee9"
                    + "40002ce51fa1"
            ),
            (
                "2.3.3.4;2.3.3.5,120|1.2.3.4",
                "a5587c26047ae203081f4dd25f494f42595e1d11d0c78485f37c806df300ce1c"
            ),
            (
                "p1.cn-hangzhou.log.aliyuncs.com.:2.3.3.4;2.3.3.5,120-0|1.2.3.4",
                "7ef8d1c6648bcf567da0c1d019cf7a50c6d7242b69f6f0a71beae4497d6ad9f64b67be440169af41ee5c"
                    + "fb36bdc08a16fb0808098db2373bfc16b1f2174a6659"
            ),
            (
                "a.example.com.:192.0.2.1,60\nb.example.com.:0|1.2.3.4",
                "999eb80c25894a490fb5de7e714825461bb96d1002a9b2b87f22d8688336f1a1d7646e21975a40ba394d"
                    + "5020a288be8ea19d20e245fc4025"
            ),
        ]
    )
    func des(text: String, wire: String) {
        #expect(Self.des().concealed(text) == wire)
        #expect(Self.des().revealed(Array(wire.utf8)) == text)
    }

    @Test("A short DES key is filled up with zero bytes")
    func shortKey() {
        #expect(Self.des("short").concealed("www.dnspod.cn") == "9b390bc9ce3eab769202b990253292d7")
    }

    @Test(
        "AES in both directions",
        arguments: [
            ("www.dnspod.cn", "556fad2b1e6696ecb7b748a48d600025"),
            ("1.2.3.4", "92405f18bf84124cd50248d6c42b88b1"),
            (
                "p1.cn-hangzhou.log.aliyuncs.com",
                "f1455180a1754d4fe65e80ef6957f8ce4e899f4293e634ba81892382fa7a4a9f"
            ),
            (
                "cloud.tencent.com,www.qq.com,www.dnspod.cn",
                "95f120ea091fec877c496fba0402ed3672cea7893ada85132866ec4e29ead3bcd587099f76f825d022e0"
                    + "9a4859997eab"
            ),
            (
                "2.3.3.4;2.3.3.5,120|1.2.3.4",
                "20701e89334d5fb5231c535115e3b93a0fe352b64d050e146555063f36e141d6"
            ),
            (
                "p1.cn-hangzhou.log.aliyuncs.com.:2.3.3.4,120-2402:4e00::1,60|1.2.3.4",
                "f1455180a1754d4fe65e80ef6957f8ce5a08be84eb24acb238a164c27bce4465ca8f2479b75dff8726d7"
                    + "b50a05d7ad692d96fea513742ddb57725df1637b893e98c121961d11efed5b10708786d5c196"
            ),
        ]
    )
    func aes(text: String, wire: String) {
        let whole = hex(Self.vector) + wire
        #expect(Self.aes().concealed(text) == whole)
        #expect(Self.aes().revealed(Array(whole.utf8)) == text)
    }

    @Test("A query asks for both families, TTL and names")
    func query() {
        let query = Self.des().queries(for: ["www.dnspod.cn"], at: .now)
        #expect(
            query.map(\.target) == [
                "/d?dn=87ae992c1321f299da3c0210a9900ae7&clientip=1&ttl=1&query=1&type=addrs&id=1&alg=des"
            ]
        )
        let plain = Self.plain.queries(for: ["a.b", "c.d"], at: .now)
        #expect(
            plain[0].target == "/d?dn=a.b%2Cc.d&clientip=1&ttl=1&query=1&type=addrs&token=987"
        )
    }

    @Test(
        "Answers with names, families, TTLs and the client's address",
        arguments: [
            ("h.x.:2.3.3.4;2.3.3.5,120-0|1.2.3.4", ["2.3.3.4", "2.3.3.5"], 120),
            ("h.x.:2.3.3.4;,120-2402:4e00::1,60", ["2.3.3.4", "2402:4e00::1"], 60),
            ("2.3.3.4;2.3.3.5,120|1.2.3.4", ["2.3.3.4", "2.3.3.5"], 120),
            ("2.3.3.4", ["2.3.3.4"], 60), ("2402:4e00::1,30", ["2402:4e00::1"], 30),
            ("H.X.:0-2402:4e00::1,60", ["2402:4e00::1"], 60), ("h.x.:0-0", [], 60),
            ("h.x.:0", [], 60),
        ]
    )
    func answers(text: String, addresses: [String], seconds: Int) throws {
        let found = try Self.plain.answers(in: Self.answer(text), to: ["h.x"])
        let host = try #require(found["h.x"])
        #expect(host.addresses.map(\.description) == addresses)
        #expect(host.timeToLive == .seconds(seconds))
    }

    @Test("A batch has a line a name, and others' lines are ignored")
    func batch() throws {
        let text = "a.x.:192.0.2.1,60|1.2.3.4\nb.x.:0|1.2.3.4\nz.x.:192.0.2.3"
        let found = try Self.plain.answers(in: Self.answer(text), to: ["a.x", "b.x", "c.x"])
        #expect(found.keys.sorted() == ["a.x", "b.x"])
        #expect(found["a.x"]?.addresses.count == 1 && found["b.x"]?.addresses.isEmpty == true)
    }

    @Test(
        "One wrong token spoils the answer",
        arguments: [
            "192.0.2.1;x", "192.0.2.1,x", "192.0.2.1,1,2", ";", "192.0.2.1-192.0.2.2",
            "2402::1-192.0.2.2", "-", "h.x.:", "not found",
        ]
    )
    func wrong(text: String) {
        let failure = #expect(throws: QueryFailure.self) {
            try Self.plain.answers(in: Self.answer(text), to: ["h.x"])
        }
        #expect(failure?.kind == .server)
    }

    @Test(
        "Refusals",
        arguments: [
            ("", 200, QueryFailure.Kind.query), ("x", 401, .account), ("x", 429, .quota),
            ("x", 404, .server), ("x", 500, .server),
        ]
    )
    func refusals(text: String, status: Int, kind: QueryFailure.Kind) {
        let failure = #expect(throws: QueryFailure.self) {
            try Self.plain.answers(in: Self.answer(text, status), to: ["h.x"])
        }
        #expect(failure?.kind == kind)
    }

    @Test(
        "A text of another key, or of none, is the server's failure and names the key",
        arguments: ["00", "zz", "87ae992c1321f299", "192.0.2.1", "<html>Log in here</html>"]
    )
    func otherKey(text: String) {
        for dialect in [Self.des("another1"), Self.aes()] {
            let failure = #expect(throws: QueryFailure.self) {
                try dialect.answers(in: Self.answer(text), to: ["h.x"])
            }
            #expect(failure?.kind == .server && failure?.remedy.contains("key") == true)
        }
    }

    @Test("The list of servers has IPv4 addresses only")
    func servers() throws {
        let list = try Self.plain.list(
            in: Self.answer("log:0|domain:0|ip:203.0.113.1;2402::1;203.0.113.2;|ttl:60")
        )
        #expect(list.map(\.origin) == ["https://203.0.113.1", "https://203.0.113.2"])
        #expect(throws: QueryFailure.self) { try Self.plain.list(in: Self.answer("log:0|ip:|")) }
        #expect(
            Self.des().listQuery(at: .now)?.target == "/conf?id=1&alg=des"
        )
        #expect(Self.des().servers.map(\.origin) == ["http://119.29.29.98"])
        #expect(Self.plain.servers.map(\.origin) == ["https://119.29.29.99"])
    }
}
