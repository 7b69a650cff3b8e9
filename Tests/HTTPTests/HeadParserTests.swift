import TestSupport
import Testing

@testable import HTTP

@Suite struct HeadParserTests {
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
        let text = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
        let reading = read("\r\n" + text + "GET /b")
        #expect(reading.path == "/a")
        #expect(reading.consumed == text.utf8.count + 2)
    }
}
