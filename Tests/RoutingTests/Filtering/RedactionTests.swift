import Crypto
import Logs
import System
import Testing

@testable import Routing

@Suite struct RedactionTests {
    private func redact(
        _ what: Redaction.What,
        with: Redaction.Replacement = .text("#"),
        fields: String = "v",
        limits: LogLimits = LogLimits(),
        secret: String? = "key"
    ) throws -> FilterBench {
        let redaction = Redaction(fields: [FieldPattern(fields)], what, with: with)
        return try FilterBench(FilterStep(.redact(redaction)), limits: limits, secret: secret)
    }

    @Test(arguments: [
        (PersonalData.email, "to a.b+c@mail.example.com, ok", "to #, ok"),
        (.email, "u=foo%40example.com&x@y", "u=#&x@y"),
        (.email, "@ a@ @b.cc a@b.c", "@ a@ @b.cc a@b.c"),
        (.email, "to=john!@example.com", "to=#"), (.email, "\"john\"@example.com", "\"#"),
        (.email, "user=joe=@example.com a=@b.cd", "user=# #"),
        (.email, "(x@y.cn)<z@q.org.>", "(#)<#.>"), (.email, "a@b.co@c.de", "#@c.de"),
        (.phone, "tel 13812345678.", "tel #."), (.phone, "+86 138-1234-5678 x", "# x"),
        (.phone, "0086 13812345678", "#"), (.phone, "+1 (415) 555-2671", "#"),
        (.phone, "415-555-2671", "#"), (.phone, "010-12345678", "#"), (.phone, "0755-1234567", "#"),
        (.phone, "1732388000123 2026-11-23 10:20:30", "1732388000123 2026-11-23 10:20:30"),
        (.card, "4111 1111 1111 1111", "#"), (.card, "n=4111111111111112", "n=4111111111111112"),
        (.card, "12 4111-1111-1111-1111 9", "12 # 9"), (.card, "378282246310005", "#"),
        (.card, "4111/1111/1111/1111 4111_1111_1111_1111", "# #"),
        (.card, "4111.1111.1111.1111,", "#,"), (.card, "4111 - 1111 - 1111 - 1111", "#"),
        (.card, "4111--1111__1111//1111", "#"), (.card, "3782 / 822463 / 10005", "#"),
        (.card, "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "#"),
        (.card, "4111    1111    1111    1111", "4111    1111    1111    1111"),
        (.card, "12/27 4111/1111/1111/1111 12/27", "12/27 # 12/27"),
        (.card, "2026/11/23 10:20:30.5 2026-11-23", "2026/11/23 10:20:30.5 2026-11-23"),
        (.card, "2026/11/23 2026/11/24 2026/11/25", "2026/11/23 2026/11/24 2026/11/25"),
        (.card, "2026_11_23_10_20_30_123", "2026_11_23_10_20_30_123"),
        (.card, "10.0.0.1 - 192.168.100.17", "10.0.0.1 - 192.168.100.17"),
        (.phone, "138/1234/5678", "138/1234/5678"),
        (.ip, "from 10.0.0.1:8080 to 256.1.1.1", "from #:8080 to 256.1.1.1"),
        (.ip, "[2001:db8::1]:443 at 12:34:56", "[#]:443 at 12:34:56"),
        (.ip, "999.1.2.3.4", "999.#"),
        (.ip, "src:fe80::1%eth0, ::1 ::ffff:1.2.3.4", "src:#%eth0, # #"),
        (.ip, "v1.2.3.4.5 std::vector x.10.0.0.1", "v#.5 std::vector x.#"),
        (.idCard, "id 11010519491231002X!", "id #!"),
        (.idCard, "11010519491231002X11010519491231002x", "##"),
        (.idCard, "110105194912310021", "110105194912310021"),
        (.jwt, "Bearer eyJhbGciOi.eyJzdWIi.c2ln-_ x", "Bearer # x"),
        (.jwt, "eyJ.eyJ eyJ", "eyJ.eyJ eyJ"),
    ])
    func findsPersonalData(kind: PersonalData, text: String, expected: String) throws {
        #expect(
            try redact(.known(kind)).result([("v", text), ("w", text)]) == [
                "v=\(expected)", "w=\(text)",
            ]
        )
    }

    @Test func replacesAsItIsTold() throws {
        let log = [("v", "a日b@c.de!")]
        let email = Redaction.What.known(.email)
        #expect(try redact(email, with: .mask).result(log) == ["v=********!"])
        #expect(try redact(email, with: .remove).result(log) == ["v=!"])
        #expect(try redact(.everything, with: .mask).result(log) == ["v=*********"])
        #expect(try redact(.everything, with: .remove).result(log) == ["v="])
        let hash = hex(Digest.hmacSHA256(key: Array("key".utf8), "a日b@c.de").prefix(16))
        #expect(try redact(email, with: .hash).result(log) == ["v=\(hash)!"])
        let digits = Redaction.What.matches(try TextPattern("[0-9]*"))
        #expect(try redact(digits, with: .text("_")).result([("v", "a1é23")]) == ["v=a_é_"])
    }

    @Test func anUnreadableLogIsRedactedToo() throws {
        let bench = try redact(.known(.email))
        #expect(try bench.result([("__raw_log__", "{\"a@b.cd\"")]) == ["__raw_log__={\"#\""])
    }

    @Test("A redaction that fails removes the value")
    func neverLetsThroughWhatItCouldNotLookAt() throws {
        #expect(
            try redact(.known(.email), with: .hash, secret: nil).result([("v", "a@b.cd x")]) == [
                "v="
            ]
        )
        var limits = LogLimits()
        limits.valueBytes = 20
        let bench = try redact(.known(.email), with: .hash, limits: limits)
        #expect(try bench.result([("v", "a@b.cd x"), ("w", "a")]) == ["v=", "w=a"])
        #expect(bench.counters.counts.first?.counts[.failed] == 1)
        // Each match looks for a `y` up to the end.
        let slow = Redaction.What.matches(try TextPattern("x(.*y)?"))
        #expect(try redact(slow).result([("v", String(repeating: "x", count: 100_000))]) == ["v="])
    }

    @Test("No byte of a secret is left, wherever it stands")
    func canary() throws {
        let canaries: [(PersonalData, String)] = [
            (.email, "canary.person@example.com"), (.phone, "+8613812345678"),
            (.card, "4111111111111111"), (.ip, "203.0.113.77"),
            (.ip, "2001:db8:85a3::8a2e:370:7334"),
            (.idCard, "11010519491231002X"),
            (.jwt, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
        ]
        let around = ["", " ", "\"", "=", ":", ",", "日", "(", "/", "é", "\u{0}", "<", "@ ", "%"]
        for (kind, canary) in canaries {
            let bench = try redact(.known(kind), with: .remove, fields: "*")
            var logs: [FilterBench.Fields] = []
            for before in around {
                for after in around {
                    let text = before + canary + after
                    logs.append([("a", text), ("b", text + " " + text), ("c", "x " + text + " y")])
                }
            }
            let result = try bench.apply(logs)
            #expect(result.kept.count == logs.count)
            for log in result.kept {
                for field in log.fields {
                    #expect(!field.contains(canary), "\(kind): \(field)")
                }
            }
        }
    }
}
