import Configuration
import HTTP
import Logs
import Net
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct AddressLimitTests {
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

@Suite(.timeLimit(.minutes(10))) struct AddressBookTests {
    private static let start = Moment(nanoseconds: 5_000_000_000)
    private let pace = RateBudget(Allowance(2))

    private func address(_ number: Int) -> Neighbourhood {
        IPAddress(v4: UInt32(0x0A00_0000 + number)).neighbourhood
    }

    private func take(
        _ book: AddressBook,
        _ number: Int,
        atMost most: Int = 65_536,
        at now: Moment = start
    ) -> Bool {
        book.take(1, of: .rate, pace, for: address(number), atMost: most, at: now) == nil
    }

    @Test("Each address has a budget of its own, a v6 network one for all of it")
    func own() throws {
        let book = AddressBook()
        for number in 0..<100 {
            #expect(take(book, number) && take(book, number))
            #expect(!take(book, number))
        }
        let (one, two) = (IPAddress("2001:db8::1"), IPAddress("2001:db8::ffff:2"))
        for (ip, fits) in [(one, true), (two, true), (one, false), (two, false)] {
            let place = try #require(ip).neighbourhood
            let time = book.take(1, of: .rate, pace, for: place, atMost: 65_536, at: Self.start)
            #expect((time == nil) == fits)
        }
        #expect(book.counts == [.addresses: 101, .refusedRate: 102])
    }

    @Test("Requests and bytes are counted apart")
    func parts() {
        let book = AddressBook()
        #expect(take(book, 1) && take(book, 1) && !take(book, 1))
        let bytes = RateBudget(Allowance(10))
        func takeBytes(_ count: Int) -> Bool {
            book.take(count, of: .bytes, bytes, for: address(1), atMost: 64, at: Self.start) == nil
        }
        func ask(_ count: Int) -> Bool {
            book.take(
                count,
                of: .bytes,
                bytes,
                for: address(1),
                atMost: 64,
                at: Self.start,
                onlyAsking: true
            ) == nil
        }
        for _ in 0..<3 { #expect(ask(10) && !ask(11)) }
        #expect(takeBytes(10))
        #expect(!takeBytes(1))
        book.charge(100, of: .bytes, bytes, for: address(1), atMost: 64, at: Self.start)
        #expect(
            book.take(1, of: .bytes, bytes, for: address(1), atMost: 64, at: Self.start)
                == .milliseconds(10_100)
        )
    }

    @Test("A reload that raises what addresses may send helps those that are waiting")
    func raised() {
        let book = AddressBook()
        func wait(_ pace: RateBudget) -> Duration? {
            book.take(1, of: .rate, pace, for: address(1), atMost: 64, at: Self.start)
        }
        let slow = RateBudget(Allowance(1, per: .hour))
        #expect(wait(slow) == nil)
        #expect(wait(slow) == .seconds(3600))
        #expect(wait(RateBudget(Allowance(200))) == .milliseconds(5))
    }

    @Test("The book has its bound; newcomers share then, and those who are there keep theirs")
    func full() {
        let book = AddressBook()
        let most = AddressBook.pagesCount * 4
        // Enough that every page is full.
        for number in 0..<10_000 { _ = take(book, number, atMost: most) }
        let crowd = book.counts
        #expect(crowd[.addresses] == most)
        // Two for each that is remembered, and two for the newcomers of each page.
        var passed = 0
        for number in 0..<10_000 where take(book, number, atMost: most) { passed += 1 }
        #expect(passed == most)
        #expect(book.counts[.shared] > 0)
        for number in 20_000..<30_000 { #expect(!take(book, number, atMost: most)) }
        #expect(book.counts[.addresses] == most)
    }

    @Test("Whoever has all of its budget again is forgotten for a newcomer")
    func forgotten() {
        let book = AddressBook()
        let most = AddressBook.pagesCount
        for number in 0..<10_000 { _ = take(book, number, atMost: most) }
        let later = Self.start + .milliseconds(1001)
        var passed = 0
        for number in 10_000..<20_000 where take(book, number, atMost: most, at: later) {
            passed += 1
        }
        // One for each page, and two shared in each.
        #expect(passed == most * 3)
        #expect(book.counts[.addresses] == most)
    }

    @Test("Four threads together get no more for an address than it may have")
    func concurrent() throws {
        let (book, taken) = (AddressBook(), CounterList(count: 1))
        let workers = try (0..<4).map { index in
            try Worker("sender-\(index)") {
                for step in 0..<5000 where take(book, step % 50) { taken.add(1, at: 0) }
            }
        }
        for worker in workers { worker.join() }
        #expect(taken[0] == 100)
    }
}
