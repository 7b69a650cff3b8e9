import Testing

@testable import HTTP

/// RFC 9112 sections 5 and 6: fields, and where a body ends.
@Suite(.timeLimit(.minutes(10)))
struct FramingTests {
    private static let next = Exchange.next
    private static let nextAnswer = Exchange.nextAnswer
    private static let chunks = "3|abc|0||"

    private static func post(_ fields: String, _ body: String = "") -> String {
        Exchange.post(fields, body)
    }

    /// A body of three bytes that is read as one, and what follows as the next request.
    private static func taken(_ name: String, _ fields: String, _ body: String) -> Exchange {
        Exchange(name, post(fields, body) + next, ["200 /a 3", nextAnswer], .stays)
    }

    static let fieldsCases: [Exchange] = [
        taken("5 names in any case", "cONTENT-lENGTH: 3", "abc"),
        Exchange("5 a field without a name", post(": a"), refused: 400),
        Exchange("5 a line without a colon", post("a"), refused: 400),
        Exchange("5 a name with a space", post("a b: c"), refused: 400),
        Exchange("5 a name with more than ASCII", post("\u{e4}: c"), refused: 400),
        Exchange("5 a name with NUL", post("a\0: c"), refused: 400),
        taken("5.1 no space before a length", "Content-Length:3", "abc"),
        taken("5.1 spaces and tabs around a length", "Content-Length: \t 3\t \t", "abc"),
        taken("5.1 spaces and tabs around a coding", "Transfer-Encoding:\t chunked \t", chunks),
        Exchange("5.1 more than ASCII in a value", post("X: \u{e4}"), ["200 /a 0"], .stays),
        Exchange("5.1 space before a colon", post("X : a"), refused: 400),
        Exchange("5.1 tab before a colon", post("X\t: a"), refused: 400),
        Exchange(
            "5.1 space behind Content-Length",
            post("Content-Length : 3", "abc"),
            refused: 400
        ),
        Exchange("5.1 the same for the coding", post("Transfer-Encoding : chunked"), refused: 400),
        Exchange("5.1 space behind Host", "GET /a HTTP/1.1|Host : a||", refused: 400),
        Exchange("5.1 NUL in a value", post("X: a\0b"), refused: 400),
        Exchange("5.1 a vertical tab in a value", post("X: a\u{b}b"), refused: 400),
        Exchange("5.1 DEL in a value", post("X: a\u{7f}b"), refused: 400),
        Exchange("5.1 CR at the end of a value", post("X: a\r"), refused: 400),
        Exchange("5.1 CR before a name", post("\rX: a"), refused: 400),
        Exchange("5.1 LF in a value", post("X: a\nY: b"), refused: 400),
        Exchange("5.1 brackets in a name", post("X(name): a"), refused: 400),
        Exchange("5.1 an expectation of no meaning", post("Expect: 200-ok"), refused: 417),
        Exchange("5.1 two expectations", post("Expect: 100-continue, other"), refused: 417),
        Exchange("5.2 a value that goes on", post("X: a| b"), refused: 400),
        Exchange("5.2 a value that goes on after a tab", post("X: a|\tb"), refused: 400),
        Exchange(
            "5.2 a coding in the next line",
            post("Transfer-Encoding:| chunked"),
            refused: 400
        ),
        Exchange("5.2 a length in the next line", post("Content-Length:|\t3", "abc"), refused: 400),
        Exchange("5.2 a value that goes on nowhere", post("X: a| "), refused: 400),
    ]

    @Test("Section 5: fields", arguments: fieldsCases, Exchange.Way.allCases)
    func fields(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }

    private static func coding(_ value: String, refused status: Int) -> Exchange {
        Exchange(
            "6.1 the coding \(value.isEmpty ? "of no name" : value)",
            post("Transfer-Encoding: \(value)", chunks),
            refused: status
        )
    }

    static let codingsCases: [Exchange] = [
        taken("6.1 chunked", "Transfer-Encoding: chunked", chunks),
        taken("6.1 chunked in any case", "transfer-encoding: ChunKED", chunks),
        // Understood by nobody here, but the end of the body is known.
        coding("gzip, chunked", refused: 501),
        coding("x;a=b , chunked", refused: 501),
        coding("identity, chunked", refused: 501),
        coding("gzip| deflate, chunked", refused: 400),
        coding("gzip|Transfer-Encoding: chunked", refused: 501),
        // 6.3: where chunked is not the last, the end of the body is not known.
        coding("gzip", refused: 400),
        coding("identity", refused: 400),
        coding("chunked, gzip", refused: 400),
        coding("chunked, identity", refused: 400),
        coding("chunked|Transfer-Encoding: gzip", refused: 400),
        coding("chunked|Transfer-Encoding: identity", refused: 400),
        // 7.1: never twice.
        coding("chunked, chunked", refused: 400),
        coding("chunked|Transfer-Encoding: chunked", refused: 400),
        coding("chunked,", refused: 400),
        coding(", chunked", refused: 400),
        coding("gzip,, chunked", refused: 400),
        coding("", refused: 400),
        coding("chunked;a=b", refused: 400),
        coding("chunked;", refused: 400),
        coding("\"chunked\"", refused: 400),
        coding("\u{b}chunked", refused: 400),
        coding("chunked chunked", refused: 400),
        coding("chunked\0", refused: 400),
        coding("xchunked", refused: 400),
        coding("gzip chunked", refused: 400),
        coding("gzip, xchunked", refused: 400),
        Exchange(
            "6.1 a length before a coding",
            post("Content-Length: 3|Transfer-Encoding: chunked", chunks),
            refused: 400
        ),
        Exchange(
            "6.1 a length behind a coding",
            post("Transfer-Encoding: chunked|Content-Length: 3", chunks),
            refused: 400
        ),
        Exchange(
            "6.1 a length and a coding of no meaning",
            post("Transfer-Encoding: identity|Content-Length: 3", "abc"),
            refused: 400
        ),
        Exchange(
            "6.1 chunks in HTTP/1.0",
            "POST /a HTTP/1.0|Transfer-Encoding: chunked||" + chunks,
            refused: 400
        ),
        Exchange(
            "6.1 chunks and a length in HTTP/1.0",
            "POST /a HTTP/1.0|Connection: keep-alive|Content-Length: 3|Transfer-Encoding: chunked||"
                + chunks,
            refused: 400
        ),
    ]

    @Test("Section 6.1: transfer codings", arguments: codingsCases, Exchange.Way.allCases)
    func codings(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }

    private static func length(_ value: String) -> Exchange {
        Exchange(
            "6.2 the length \(value.isEmpty ? "of no digit" : value)",
            post("Content-Length: \(value)", "abc"),
            refused: 400
        )
    }

    static let lengthsCases: [Exchange] = [
        taken("6.2 a length", "Content-Length: 3", "abc"),
        taken("6.2 zeros before a length", "Content-Length: 0003", "abc"),
        Exchange("6.2 no length at all", post("X: a") + next, ["200 /a 0", nextAnswer], .stays),
        Exchange(
            "6.2 the length 0",
            post("Content-Length: 0") + next,
            ["200 /a 0", nextAnswer],
            .stays
        ),
        length(""), length("+3"), length("-3"), length("3, 3"), length("3,3"), length("3;"),
        length("0x3"), length("3.0"), length("3 3"), length("\"3\""), length("three"),
        length("\u{663}"), length("3|Content-Length: 3"), length("3|Content-Length: 4"),
        length("3|content-length:"), length("9223372036854775808"), length("18446744073709551619"),
        length("99999999999999999999999999"),
        Exchange(
            "6.2 the largest length",
            "POST /small HTTP/1.1|Host: a|Content-Length: 9223372036854775807||",
            refused: 413
        ),
        Exchange(
            "6.2 a length beyond what the handler takes",
            "POST /small HTTP/1.1|Host: a|Content-Length: 9999999||abc",
            refused: 413
        ),
    ]

    @Test("Section 6.2: lengths", arguments: lengthsCases, Exchange.Way.allCases)
    func lengths(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }
}
