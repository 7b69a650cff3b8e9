import Testing

@testable import HTTP

/// RFC 9112 sections 2 and 3: lines, versions, methods and targets.
@Suite(.timeLimit(.minutes(10)))
struct RequestLineTests {
    private static let next = Exchange.next
    private static let nextAnswer = Exchange.nextAnswer

    private static func line(_ line: String, host: String = "a") -> String {
        "\(line)|Host: \(host)||"
    }

    private static func taken(
        _ name: String,
        _ sends: String,
        _ answer: String = "/a 0"
    ) -> Exchange { Exchange(name, sends, ["200 \(answer)"], .stays) }

    private static func host(refused host: String) -> Exchange {
        Exchange("3.2 the host \(host)", line("GET /a HTTP/1.1", host: host), refused: 400)
    }

    static let messagesCases: [Exchange] = [
        taken("2.1 a line, fields, an empty line", line("GET /a HTTP/1.1")),
        taken("2.2 an empty line before it", "|" + line("GET /a HTTP/1.1")),
        Exchange(
            "2.2 an empty line behind a body",
            Exchange.post("Content-Length: 1", "x|") + next,
            ["200 /a 1", nextAnswer],
            .stays
        ),
        Exchange("2.2 two empty lines before it", "||" + line("GET /a HTTP/1.1"), refused: 400),
        Exchange("2.2 LF before it", "\n" + line("GET /a HTTP/1.1"), refused: 400),
        Exchange("2.2 a message of TLS", "\u{16}\u{3}\u{1}", refused: 400),
        Exchange("2.2 lines that end with LF", "GET /a HTTP/1.1\nHost: a\n\n", refused: 400),
        Exchange("2.2 one line that ends with LF", "GET /a HTTP/1.1|Host: a\n|", refused: 400),
        Exchange("2.2 a line that ends with CR", "GET /a HTTP/1.1\rHost: a||", refused: 400),
        Exchange("2.2 CR in the version", line("GET /a HTTP/1.\r1"), refused: 400),
        Exchange("2.2 CR in the target", line("GET /a\rb HTTP/1.1"), refused: 400),
        Exchange("2.2 CR in the method", line("GE\rT /a HTTP/1.1"), refused: 400),
        Exchange("2.2 CR in a value", "GET /a HTTP/1.1|Host: a|X: b\rc||", refused: 400),
        Exchange("2.2 space before the first field", "GET /a HTTP/1.1| Host: a||", refused: 400),
        Exchange("2.2 tab before the first field", "GET /a HTTP/1.1|\tHost: a||", refused: 400),
        Exchange("2.2 a line of space", "GET /a HTTP/1.1| |Host: a||", refused: 400),
        taken("2.3 HTTP/1.2 is read as 1.1", line("GET /a HTTP/1.2")),
        taken("2.3 HTTP/1.9 is read as 1.1", line("GET /a HTTP/1.9")),
        Exchange(
            "2.3 HTTP/1.2 has chunks",
            "POST /a HTTP/1.2|Host: a|Transfer-Encoding: chunked||1|x|0||" + next,
            ["200 /a 1", nextAnswer],
            .stays
        ),
        Exchange("2.3 HTTP/1.2 needs Host", "GET /a HTTP/1.2||", refused: 400),
        Exchange("2.3 HTTP/2.0", line("GET /a HTTP/2.0"), refused: 505),
        Exchange("2.3 HTTP/0.9", line("GET /a HTTP/0.9"), refused: 505),
        Exchange("2.3 HTTP/3.1", line("GET /a HTTP/3.1"), refused: 505),
        Exchange("2.3 http/1.1", line("GET /a http/1.1"), refused: 400),
        Exchange("2.3 HTTP/1.10", line("GET /a HTTP/1.10"), refused: 400),
        Exchange("2.3 HTTP/01.1", line("GET /a HTTP/01.1"), refused: 400),
        Exchange("2.3 HTTP/11", line("GET /a HTTP/11"), refused: 400),
        Exchange("2.3 HTTP/1.1.1", line("GET /a HTTP/1.1.1"), refused: 400),
        Exchange("2.3 HTTP/+1.1", line("GET /a HTTP/+1.1"), refused: 400),
        Exchange("2.3 the preface of HTTP/2", "PRI * HTTP/2.0||", refused: 505),
        Exchange("2.3 HTTP/1", line("GET /a HTTP/1"), refused: 400),
        Exchange("2.3 HTTP/1.", line("GET /a HTTP/1."), refused: 400),
        Exchange("2.3 a space in the version", line("GET /a HTTP/ 1.1"), refused: 400),
        Exchange("2.3 no version", line("GET /a"), refused: 400),
    ]

    @Test("Section 2: messages", arguments: messagesCases, Exchange.Way.allCases)
    func messages(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }

    static let linesCases: [Exchange] = [
        Exchange("3 two spaces before the target", line("GET  /a HTTP/1.1"), refused: 400),
        Exchange("3 two spaces behind the target", line("GET /a  HTTP/1.1"), refused: 400),
        Exchange("3 a tab before the target", line("GET\t/a HTTP/1.1"), refused: 400),
        Exchange("3 a tab behind the target", line("GET /a\tHTTP/1.1"), refused: 400),
        Exchange("3 a space before the method", line(" GET /a HTTP/1.1"), refused: 400),
        Exchange("3 a space behind the version", line("GET /a HTTP/1.1 "), refused: 400),
        Exchange(
            "3 a line that is too long",
            line("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1"),
            refused: 414
        ),
        taken("3.1 any token is a method", line("p!t /a HTTP/1.1")),
        taken("3.1 methods are case-sensitive", line("head /a HTTP/1.1")),
        Exchange("3.1 a method that is no token", line("G@T /a HTTP/1.1"), refused: 400),
        Exchange("3.1 a method in quotes", line("\"GET\" /a HTTP/1.1"), refused: 400),
        Exchange("3.1 a method alone", line("GET|/a HTTP/1.1"), refused: 400),
        Exchange("3.1 no method", line("/a HTTP/1.1"), refused: 400),
        Exchange("3.2 a space in the target", line("GET /a b HTTP/1.1"), refused: 400),
        Exchange("3.2 a control character", line("GET /a\u{1} HTTP/1.1"), refused: 400),
        Exchange("3.2 DEL in the target", line("GET /a\u{7f} HTTP/1.1"), refused: 400),
        Exchange("3.2 more than ASCII", line("GET /\u{e4} HTTP/1.1"), refused: 400),
        Exchange("3.2 a fragment", line("GET /a#b HTTP/1.1"), refused: 400),
        Exchange("3.2 no Host", "GET /a HTTP/1.1||", refused: 400),
        Exchange("3.2 Host twice", "GET /a HTTP/1.1|Host: a|HOST: a||", refused: 400),
        Exchange("3.2 an empty Host", "GET /a HTTP/1.1|Host:||", refused: 400),
        host(refused: "a, b"), host(refused: "a b"), host(refused: "u@a"), host(refused: "a/b"),
        host(refused: "a:b"), host(refused: "a:65536"), host(refused: "a:1:2"),
        host(refused: "[::1"), host(refused: "[::1]x"), host(refused: "[]"), host(refused: ":80"),
        taken("3.2 a name", line("GET /a HTTP/1.1", host: "a.b-c_d.example")),
        taken("3.2 IPv4", line("GET /a HTTP/1.1", host: "127.0.0.1:8080")),
        // Hexadecimal digits and dots are all that is asked of a literal.
        taken("3.2 a literal that is no address", line("GET /a HTTP/1.1", host: "[a.b.c]")),
        taken("3.2 a port", line("GET /a HTTP/1.1", host: "a:80")),
        taken("3.2 an empty port", line("GET /a HTTP/1.1", host: "a:")),
        taken("3.2 IPv6", line("GET /a HTTP/1.1", host: "[::1]:80")),
    ]

    @Test("Section 3: request lines", arguments: linesCases, Exchange.Way.allCases)
    func lines(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }

    static let formsCases: [Exchange] = [
        taken("3.2.1 a path and a query", line("GET /a?b=/c HTTP/1.1")),
        taken("3.2.1 a path that begins twice", line("GET //a/b HTTP/1.1"), "//a/b 0"),
        Exchange("3.2.1 no path", line("GET a HTTP/1.1"), refused: 400),
        Exchange("3.2.1 a query alone", line("GET ?a HTTP/1.1"), refused: 400),
        taken("3.2.2 an address", line("GET http://a/x HTTP/1.1"), "/x 0"),
        taken(
            "3.2.2 an address in other case",
            line("GET HTTP://A.b/x HTTP/1.1", host: "a.B"),
            "/x 0"
        ),
        taken(
            "3.2.2 an address with a port",
            line("GET http://a:81/x?y HTTP/1.1", host: "a:81"),
            "/x 0"
        ),
        taken("3.2.2 no path", line("GET http://a HTTP/1.1"), "/ 0"),
        taken("3.2.2 no path but a query", line("GET http://a?/x HTTP/1.1"), "/ 0"),
        // Whoever ends TLS in front of the gateway may leave the address as it was.
        taken("3.2.2 an https address", line("GET https://a/x HTTP/1.1"), "/x 0"),
        Exchange("3.2.2 an address of another host", line("GET http://b/x HTTP/1.1"), refused: 400),
        Exchange(
            "3.2.2 a port that Host has not",
            line("GET http://a:80/x HTTP/1.1"),
            refused: 400
        ),
        Exchange("3.2.2 an address without Host", "GET http://a/x HTTP/1.1||", refused: 400),
        Exchange("3.2.2 the same in HTTP/1.0", "GET http://a/x HTTP/1.0||", refused: 400),
        Exchange(
            "3.2.2 an address in HTTP/1.0",
            "GET http://a/x HTTP/1.0|Host: a||",
            ["200 /x 0"],
            .ends
        ),
        Exchange("3.2.2 no host", line("GET http:///x HTTP/1.1"), refused: 400),
        Exchange("3.2.2 nothing but a scheme", line("GET http:// HTTP/1.1"), refused: 400),
        Exchange("3.2.2 a user", line("GET http://u@a/x HTTP/1.1", host: "u@a"), refused: 400),
        Exchange("3.2.2 two hosts", line("GET http://a,b/x HTTP/1.1", host: "a,b"), refused: 400),
        Exchange("3.2.2 another scheme", line("GET ftp://a/x HTTP/1.1"), refused: 400),
        Exchange("3.2.3 CONNECT", line("CONNECT a:80 HTTP/1.1", host: "a:80"), refused: 400),
        Exchange("3.2.3 GET with an authority", line("GET a:80 HTTP/1.1"), refused: 400),
        taken("3.2.4 OPTIONS *", line("OPTIONS * HTTP/1.1"), "* 0"),
        taken("3.2.4 OPTIONS of an address", line("OPTIONS http://a HTTP/1.1"), "/ 0"),
        Exchange("3.2.4 GET *", line("GET * HTTP/1.1"), refused: 400),
        Exchange("3.2.4 OPTIONS **", line("OPTIONS ** HTTP/1.1"), refused: 400),
    ]

    @Test("Section 3.2: the forms of targets", arguments: formsCases, Exchange.Way.allCases)
    func forms(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }
}
