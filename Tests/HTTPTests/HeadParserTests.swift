import TestSupport
import Testing

@testable import HTTP

@Suite
struct HeadParserTests {
    private func read(_ text: String, _ limits: HTTPServer.Limits = .init()) -> HeadReading {
        HeadReading.of(Array(text.utf8), limits)
    }

    @Test("A head is parsed into method, path, query and fields")
    func wholeHead() {
        let reading = read(
            "POST /logs/app%20a?x=1&y=?2 HTTP/1.1\r\nHost: gw.example:8080\r\nX-Empty:\r\n"
                + "X-Spaces: \t a b \t\r\ncontent-length: 12\r\n\r\nbody"
        )
        #expect(reading.problem == nil)
        #expect(reading.method == .post)
        #expect(reading.path == "/logs/app%20a")
        #expect(reading.query == "x=1&y=?2")
        #expect(
            reading.fields == [
                "Host=gw.example:8080", "X-Empty=", "X-Spaces=a b", "content-length=12",
            ]
        )
        #expect(reading.framing == .length(12))
        #expect(reading.keepsAlive)
    }

    @Test("A field is found whatever the case of its name")
    func fieldLookup() throws {
        let text = Array("GET / HTTP/1.1\r\nHOST: a\r\nX-Log-Api: 1\r\n\r\n".utf8)
        let parsed = try text.withUnsafeBytes { bytes throws(RequestProblem) in
            try HeadParser.parse(bytes, fieldCount: 2, peer: PeerAddress(host: "::1", port: 1))
        }
        #expect(parsed.head.field("x-log-api") == "1")
        #expect(parsed.head.field("host") == "a")
        #expect(parsed.head.field("x-log") == nil)
    }

    @Test(
        "Methods are case-sensitive",
        arguments: [
            ("GET", .get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("PATCH", .patch),
            ("DELETE", .delete), ("OPTIONS", .options), ("get", .other), ("POSTS", .other),
            ("PURGE", .other),
        ] as [(String, RequestHead.Method)]
    )
    func methods(name: String, method: RequestHead.Method) {
        #expect(read("\(name) / HTTP/1.1\r\nHost: a\r\n\r\n").method == method)
    }

    @Test(
        "The target may be a path, an http address or, for OPTIONS, an asterisk",
        arguments: [
            ("GET /", "a", "/", nil), ("GET //x//", "a", "//x//", nil), ("GET /?", "a", "/", ""),
            ("GET http://a.b:80/c?d", "A.b:80", "/c", "d"), ("GET HTTPS://a/", "a", "/", nil),
            ("OPTIONS *", "a", "*", nil), ("GET /a|{}\"<>^`\\", "a", "/a|{}\"<>^`\\", nil),
        ] as [(String, String, String, String?)]
    )
    func targets(start: String, host: String, path: String, query: String?) {
        let reading = read("\(start) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(reading.problem == nil)
        #expect(reading.path == path)
        #expect(reading.query == query)
    }

    @Test(
        "The version and Connection decide if the connection persists",
        arguments: [
            ("1.1", "", true), ("1.1", "Connection: close\r\n", false),
            ("1.1", "Connection: Upgrade, CLOSE\r\n", false),
            ("1.1", "Connection: x\r\nConnection:close\r\n", false),
            ("1.1", "Connection: closed\r\n", true), ("1.0", "", false),
            ("1.0", "Connection: Keep-Alive\r\n", true),
            ("1.0", "Connection: keep-alive, close\r\n", false),
        ]
    )
    func keepAlive(version: String, fields: String, keepsAlive: Bool) {
        let reading = read("GET / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n")
        #expect(reading.problem == nil)
        #expect(reading.keepsAlive == keepsAlive)
        #expect(reading.minorVersion == (version == "1.1" ? 1 : 0))
    }

    @Test(
        "A body is framed by Content-Length or by chunks",
        arguments: [
            ("", .none), ("Content-Length: 0\r\n", .none), ("Content-Length: 007\r\n", .length(7)),
            ("Content-Length: 9223372036854775807\r\n", .length(.max)),
            ("Transfer-Encoding: chunked\r\n", .chunked),
            ("transfer-encoding:CHUNKED\r\n", .chunked),
        ] as [(String, BodyFraming)]
    )
    func framing(field: String, framing: BodyFraming) {
        let reading = read("POST / HTTP/1.1\r\nHost: a\r\n\(field)\r\n")
        #expect(reading.problem == nil)
        #expect(reading.framing == framing)
    }

    @Test(
        "Any host that a URL can name is a Host",
        arguments: ["a", "a.b-c_d.example", "127.0.0.1:8080", "[::1]", "[2001:db8::1]:443", "a:"]
    )
    func hosts(host: String) {
        #expect(read("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").problem == nil)
    }

    @Test("HTTP/1.0 needs no Host, and its expectations are not met")
    func oldVersion() {
        let reading = read("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")
        #expect(reading.problem == nil)
        #expect(!reading.expectsContinue)
        #expect(read("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n").expectsContinue)
    }

    @Test("One empty line before the request line is skipped")
    func leadingEmptyLine() {
        let text = get("/a")
        let reading = read("\r\n" + text + "GET /b")
        #expect(reading.path == "/a")
        #expect(reading.consumed == text.utf8.count + 2)
    }

    private static let head = Array(
        "\r\nPOST /logs/a?b=c HTTP/1.1\r\nHost: gw\r\nContent-Length: 3\r\nX-Y: z\r\n\r\nabc".utf8
    )

    @Test("A head may be cut between any two reads", arguments: 0...head.count)
    func cutOnce(at cut: Int) {
        let whole = HeadReading.of(Self.head)
        #expect(whole.problem == nil)
        #expect(HeadReading.of(Self.head, cuts: [cut]) == whole)
    }

    @Test("A head may come byte by byte")
    func byteByByte() {
        #expect(HeadReading.of(Self.head, cuts: Array(1..<Self.head.count)) == .of(Self.head))
    }

    @Test("A head is refused equally in any two pieces")
    func refusals() {
        var limits = HTTPServer.Limits()
        limits.requestLineBytes = 30
        limits.headBytes = 60
        limits.headFields = 2
        for text in [
            "GET /\(String(repeating: "x", count: 40)) HTTP/1.1\n\r\n",
            "GET / HTTP/1.1\r\nHost: \(String(repeating: "x", count: 60))\n\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\nC: d\r\nE: f\n\r\n", "GET / HTTP/1.1\r\n\n", "\n",
            "\r\n\r\n",
        ] {
            let bytes = Array(text.utf8)
            let whole = HeadReading.of(bytes, limits)
            #expect(whole.problem != nil)
            for cut in 0...bytes.count {
                #expect(HeadReading.of(bytes, cuts: [cut], limits) == whole)
            }
        }
    }

    @Test("Mutated heads never trap, and parse equally in any pieces", arguments: 0..<40)
    func mutations(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var limits = HTTPServer.Limits()
        limits.requestLineBytes = 60
        limits.headBytes = 160
        limits.headFields = 6
        let seeds = [
            "GET /a?b HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\n\r\n",
            "POST http://a:1/ HTTP/1.1\r\nHost: a:1\r\nContent-Length: 12\r\n\r\n0123456789ab",
            "POST / HTTP/1.1\r\nHost: [::1]:1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
            "OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\nX:\r\nY: \t\r\n\r\n",
        ].map { Array($0.utf8) }
        for _ in 0..<500 {
            let bytes = seeds.randomElement(using: &random)!.mutated(using: &random)
            let whole = HeadReading.of(bytes, limits)
            let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            #expect(HeadReading.of(bytes, cuts: cuts, limits) == whole, "\(bytes)")
        }
    }

    /// Fields of an otherwise good request.
    private static let badFields: [(status: Int, fields: String)] = [
        (400, "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        (400, "Transfer-Encoding: chunked\r\nContent-Length: 5"),
        (400, "Content-Length: 5\r\nContent-Length: 5"),
        (400, "Content-Length: 5\r\nContent-Length: 6"),
        (400, "Content-Length: 5, 5"),
        (400, "Content-Length: +5"),
        (400, "Content-Length: -5"),
        (400, "Content-Length:"),
        (400, "Content-Length: 5 5"),
        (400, "Content-Length: 0x5"),
        (400, "Content-Length: 5.0"),
        (400, "Content-Length: 9223372036854775808"),
        (400, "Content-Length: 99999999999999999999999999"),
        (400, "Transfer-Encoding: gzip"),
        (501, "Transfer-Encoding: gzip, chunked"),
        (400, "Transfer-Encoding: chunked, identity"),
        (400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        (400, "Transfer-Encoding: xchunked"),
        (400, "Transfer-Encoding: chunked;q=1"),
        (400, "Transfer-Encoding: \u{0b}chunked"),
        (400, "Transfer-Encoding:"),
        (400, "Transfer-Encoding : chunked"),
        (400, "X-Folded: a\r\n b"),
        (400, "X-Folded: a\r\n\tb"),
        (400, " X-Folded: a"),
        (400, "X-Space : a"),
        (400, "X-Tab\t: a"),
        (400, "X Space: a"),
        (400, ": nameless"),
        (400, "no colon"),
        (400, "X-Nul: a\0b"),
        (400, "X-Bell: a\u{07}b"),
        (400, "X-Delete: a\u{7f}b"),
        (400, "X-Return: a\rb"),
        (400, "X-Return: a\r\r"),
        (400, "\rX: a"),
        (400, "X-N\u{e4}me: a"),
        (400, "X(name): a"),
        (400, "X-Feed: a\nX-Other: b"),
        (400, "Host: b"),
        (417, "Expect: 200-ok"),
        (417, "Expect: 100-continue, other"),
    ]

    @Test("A malformed or repeated framing field is refused", arguments: badFields)
    func fields(status: Int, fields: String) {
        let head = "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"
        let reading = HeadReading.of(Array(head.utf8))
        #expect(reading.problem?.status == status, "\(reading)")
        #expect(reading.problem?.reason.isEmpty == false)
    }

    @Test(
        "A malformed request line is refused",
        arguments: [
            (400, "GET  / HTTP/1.1"), (400, "GET /  HTTP/1.1"), (400, "GET / HTTP/1.1 "),
            (400, " GET / HTTP/1.1"), (400, "GET /"), (400, "GET"), (400, "GET\t/ HTTP/1.1"),
            (400, "G@T / HTTP/1.1"), (400, "GET / http/1.1"), (400, "GET / HTTP/11"),
            (400, "GET / HTTP/1.1.1"), (400, "GET / HTTP/+1.1"), (400, "GET a HTTP/1.1"),
            (400, "GET * HTTP/1.1"), (400, "GET a:80 HTTP/1.1"), (400, "GET ftp://a/ HTTP/1.1"),
            (400, "GET http:///x HTTP/1.1"), (400, "GET http://b HTTP/1.1"),
            (400, "GET http://b/ HTTP/1.1"), (400, "GET http://b?/ HTTP/1.1"),
            (400, "CONNECT a:80 HTTP/1.1"), (400, "GET /\u{e4} HTTP/1.1"),
            (400, "GET /a#b HTTP/1.1"), (400, "GET /a\0b HTTP/1.1"), (400, "GET /\rx HTTP/1.1"),
            (400, "GET / HTTP/1.1\rX: y"), (400, "/ HTTP/1.1"), (400, "GET\r\n/ HTTP/1.1"),
            (400, "\r\n\r\nGET / HTTP/1.1"), (400, "\nGET / HTTP/1.1"),
            (400, "\u{16}\u{03}\u{01}"), (505, "GET / HTTP/2.0"),
            (505, "GET / HTTP/0.9"), (505, "PRI * HTTP/2.0"), (505, "GET / HTTP/9.9"),
        ]
    )
    func requestLines(status: Int, line: String) {
        let reading = HeadReading.of(Array("\(line)\r\nHost: a\r\n\r\n".utf8))
        #expect(reading.problem?.status == status, "\(reading)")
    }

    @Test(
        "A missing or malformed Host is refused",
        arguments: [
            "", "Host:\r\n", "Host: a b\r\n", "Host: a,b\r\n", "Host: a/b\r\n", "Host: a@b\r\n",
            "Host: a:b\r\n", "Host: a:65536\r\n", "Host: a:1:2\r\n", "Host: [::1\r\n",
            "Host: [::1]x\r\n", "Host: []\r\n", "Host: [a.b.c]\r\n", "Host: :80\r\n",
            "Host: a\r\nHOST: a\r\n",
        ]
    )
    func badHosts(fields: String) {
        let reading = HeadReading.of(Array("GET / HTTP/1.1\r\n\(fields)\r\n".utf8))
        // [a.b.c] is made of hexadecimal digits and dots, which is all that is asked of a literal.
        #expect(reading.problem?.status == (fields.contains("a.b.c") ? nil : 400), "\(reading)")
    }

    @Test("Transfer-Encoding in HTTP/1.0 is refused")
    func oldChunked() {
        let head = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(HeadReading.of(Array(head.utf8)).problem?.status == 400)
    }

    @Test("A line feed alone is refused at once, not waited for")
    func bareLineFeed() {
        #expect(HeadReading.of(Array("GET / HTTP/1.1\n".utf8)).problem?.status == 400)
        #expect(HeadReading.of(Array("GET / HTTP/1.1\r\nHost: a\n".utf8)).problem?.status == 400)
    }

    @Test("The limits are exact", arguments: [0, 1])
    func limits(excess: Int) {
        var limits = HTTPServer.Limits()
        limits.requestLineBytes = 40
        limits.headBytes = 200
        limits.headFields = 5
        func status(_ head: String) -> Int? {
            HeadReading.of(Array(head.utf8), limits).problem?.status
        }

        let path = String(repeating: "p", count: 40 - "GET / HTTP/1.1".utf8.count + excess)
        #expect(status("GET /\(path) HTTP/1.1\r\nHost: a\r\n\r\n") == (excess == 0 ? nil : 414))

        let start = "GET / HTTP/1.1\r\nHost: a\r\nX: "
        let value = String(repeating: "v", count: 200 - start.utf8.count - 4 + excess)
        #expect(status(start + value + "\r\n\r\n") == (excess == 0 ? nil : 431))

        let fields = String(repeating: "X: y\r\n", count: 4 + excess)
        #expect(status("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n") == (excess == 0 ? nil : 431))
    }
}
