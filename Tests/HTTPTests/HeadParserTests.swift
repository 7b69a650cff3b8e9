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

/// What a head came to, in a form that can be compared.
struct HeadReading: Equatable, CustomStringConvertible {
    var problem: RequestProblem?
    var isIncomplete = false
    var consumed = 0
    var method = RequestHead.Method.other
    var path = ""
    var query: String?
    var fields: [String] = []
    var minorVersion = -1
    var framing = BodyFraming.none
    var keepsAlive = false
    var expectsContinue = false

    var description: String {
        problem.map { "\($0.status): \($0.reason)" }
            ?? (isIncomplete ? "incomplete" : "\(method) \(path) \(framing) \(fields)")
    }

    /// Reads the bytes as they would come in pieces that end at the cuts.
    static func of(
        _ bytes: [UInt8],
        cuts: [Int] = [],
        _ limits: HTTPServer.Limits = .init()
    ) -> HeadReading {
        var scanner = HeadScanner()
        for cut in cuts + [bytes.count] {
            // A copy of its own size, so that a sanitizer sees each byte read behind the piece.
            let piece = Array(bytes[..<cut])
            do throws(RequestProblem) {
                if let reading = try read(piece, &scanner, limits) { return reading }
            } catch {
                return HeadReading(problem: error)
            }
        }
        return HeadReading(isIncomplete: true)
    }

    private static func read(
        _ bytes: [UInt8],
        _ scanner: inout HeadScanner,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> HeadReading? {
        try bytes.withUnsafeBufferPointer { bytes throws(RequestProblem) in
            let bytes = UnsafeRawBufferPointer(bytes)
            guard let range = try scanner.scan(bytes, limits) else { return nil }
            let parsed = try HeadParser.parse(
                UnsafeRawBufferPointer(rebasing: bytes[range]),
                fieldCount: scanner.fieldCount,
                peer: PeerAddress(host: "192.0.2.1", port: 1)
            )
            return HeadReading(parsed, consumed: range.upperBound)
        }
    }

    private init(_ parsed: ParsedHead, consumed: Int) {
        self.consumed = consumed
        let head = parsed.head
        method = head.method
        path = head.pathText
        query = head.queryText
        fields = head.fields.map {
            String(decoding: head.bytes[$0.name], as: UTF8.self) + "="
                + String(decoding: head.bytes[$0.value], as: UTF8.self)
        }
        minorVersion = head.minorVersion
        framing = parsed.framing
        keepsAlive = parsed.keepsAlive
        expectsContinue = parsed.expectsContinue
    }

    init(problem: RequestProblem? = nil, isIncomplete: Bool = false) {
        self.problem = problem
        self.isIncomplete = isIncomplete
    }
}
