import Testing

@testable import HTTP

@Suite struct HeadRefusalTests {
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
    func hosts(fields: String) {
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
