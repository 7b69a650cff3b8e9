import Configuration
import HTTP
import Ingest
import Logs
import Net
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct AddressLimitTests {
    private static let key = "phone-0123456789abcdef"
    private static let body = Array(#"{"a":1}"#.utf8)
    private let clock = ManualClock()

    private func end(
        _ devices: String,
        limits: (inout LimitSettings) -> Void = { _ in }
    ) throws -> DeviceListener {
        try DeviceListener(
            "devices: { \(devices) }\n\(DeviceListener.twoDestinations)",
            clock: clock,
            limits: limits
        )
    }

    @Test("An address over its rate is told so in its client's way, and others go on")
    func rate() throws {
        let end = try end("per_address: { rate: 2/m }")
        for _ in 0..<2 { #expect(try end.client.post("/logs/x", Self.body).status == 200) }
        let plain = try end.client.post("/logs/x", Self.body)
        #expect(plain.status == 429)
        #expect(plain["retry-after"] == "30")
        #expect(plain.text.contains("this address sends more requests than it may"))
        let sls = try end.client.post("/logstores/app-log/track", "".utf8, ["content-length": "9"])
        #expect(sls.status == 403)
        #expect(sls.text.hasPrefix(#"{"errorCode":"WriteQuotaExceed""#))
        #expect(sls["retry-after"] == nil)
        // Only what brings logs counts.
        #expect(try end.client.get("/healthz").status == 200)
        #expect(try end.client.get("/nope").status == 404)
        var other = end.client
        other.source = "127.0.0.2"
        #expect(try other.post("/logs/x", Self.body).status == 200)
        let counts = end.shared.door.addresses.counts
        #expect(counts[.addresses] == 2)
        #expect(counts[.refusedRate] == 2)
        clock.advance(.seconds(30))
        #expect(try end.client.post("/logs/x", Self.body).status == 200)
    }

    @Test("Behind a proxy each client counts for itself, as far as the proxy is trusted")
    func proxied() throws {
        let end = try end("per_address: { rate: 1/h }, trusted_proxies: [127.0.0.1]")
        func status(_ forwarded: String, from source: String = "127.0.0.1") throws -> Int {
            var client = end.client
            client.source = source
            return try client.post("/logs/x", Self.body, ["x-forwarded-for": forwarded]).status
        }
        #expect(try status("192.0.2.1") == 200)
        #expect(try status("192.0.2.2") == 200)
        #expect(try status("192.0.2.3, 192.0.2.2") == 429)
        #expect(try status("2001:db8::1") == 200)
        #expect(try status("2001:db8::2") == 429)
        // A stranger's word counts for nothing.
        #expect(try status("192.0.2.7", from: "127.0.0.9") == 200)
        #expect(try status("192.0.2.8", from: "127.0.0.9") == 429)
    }

    @Test("Bytes are taken when they are known, and cost nothing where a key's budget refuses them")
    func bytes() throws {
        let end = try end(
            "per_address: { bytes: 100/s }, keys: [{ name: phone, key: \(Self.key), rate: 2/s }]"
        ) { $0.bodyBytes = 1000 }
        let shown = ["x-sluice-key": Self.key] as KeyValuePairs
        let most = Array(repeating: UInt8(ascii: " "), count: 493) + Self.body
        #expect(try end.client.post("/logs/x", most, shown).status == 200)
        // A stranger's bytes cost nothing.
        #expect(try end.client.post("/logs/x", most).status == 401)
        #expect(try end.client.post("/logs/x", most, shown).status == 200)
        let refused = try end.client.post("/logs/x", Self.body, shown)
        #expect(refused.status == 429)
        #expect(refused.text.contains("this address sends more bytes"))
        clock.advance(.milliseconds(100))
        // Ten bytes are there, no request of the key is.
        for _ in 0..<3 {
            let answer = try end.client.post("/logs/x", Self.body, shown)
            #expect(answer.text.contains("this key sends more requests"), "\(answer.text)")
        }
        clock.advance(.milliseconds(400))
        #expect(try end.client.post("/logs/x", Self.body, shown).status == 200)
    }

    @Test("What an address only promises costs it nothing")
    func promises() throws {
        let end = try end("per_address: { bytes: 100/s }") { $0.bodyBytes = 1000 }
        let promise = try end.client.opened(
            sending: "POST /logs/x HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\n"
                + "content-length: 1000\r\n\r\n"
        )
        #expect(promise.receives("100 Continue"))
        let most = Array(repeating: UInt8(ascii: " "), count: 993) + Self.body
        #expect(try end.client.post("/logs/x", most).status == 200)
        promise.send(most)
        #expect(promise.receives("this address sends more bytes than it may"))
    }

    @Test("What a body turns out to have is taken from its address too")
    func debt() throws {
        let end = try end("per_address: { bytes: 100/s }") { $0.bodyBytes = 1000 }
        let long = Array(#"{"a":"\#(String(repeating: "x", count: 2992))"}"#.utf8)
        let packed = Deflate.compress(long)
        let coded: KeyValuePairs = ["content-encoding": "deflate"]
        #expect(try end.client.post("/logs/x", packed, coded).status == 200)
        #expect(try end.client.post("/logs/x", Self.body)["retry-after"] == "21")
        #expect(end.shared.door.addresses.counts[.refusedBytes] == 1)
    }
}
