import TestSupport
import Testing

@testable import HTTP

/// RFC 9112 sections 6.3 and 7: bodies of all requests, and chunks.
@Suite(.timeLimit(.minutes(10)))
struct BodyTests {
    private static let next = Exchange.next
    private static let nextAnswer = Exchange.nextAnswer

    /// A body that looks like a request must never become one.
    private static let smuggled = "GET /evil HTTP/1.1|Host: a||"
    private static let count = Exchange.bytes(smuggled).count
    private static let size = String(count, radix: 16)
    private static let framings: [(name: String, fields: String, body: String, count: Int)] = [
        ("a length", "Content-Length: \(count)", smuggled, count),
        ("chunks", "Transfer-Encoding: chunked", "\(size)|\(smuggled)|0||", count),
        ("small chunks", "Transfer-Encoding: chunked", "1|G|2;a=b|ET|0|X: \(smuggled)", 3),
    ]

    /// Requests of each method, with each framing, and one behind.
    static let methodsCases: [Exchange] = framings.flatMap { framing in
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "OTHER"].map {
            method in
            let text = "/a \(framing.count)"
            return Exchange(
                "6.3 \(method) with \(framing.name)",
                "\(method) /a HTTP/1.1|Host: a|\(framing.fields)||\(framing.body)" + next,
                [method == "HEAD" ? "HEAD 200 \(text.utf8.count)" : "200 \(text)", nextAnswer],
                .stays
            )
        }
    }

    @Test("Section 6.3: bodies", arguments: methodsCases, Exchange.Way.allCases)
    func methods(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }

    /// A request that is refused before its body is read; what follows is a request only if the
    /// connection goes on.
    private static func refused(
        _ name: String,
        _ fields: String,
        _ body: String,
        method: String = "POST",
        goesOn: Bool
    ) -> Exchange {
        let request = "\(method) /refused HTTP/1.1|Host: a|\(fields)||\(body)"
        return goesOn
            ? Exchange(name, request + next, ["401 who?", nextAnswer], .stays)
            : Exchange(name, request + smuggled, ["401 who?"], .ends)
    }

    private static let chunked = "Transfer-Encoding: chunked"
    private static let expecting = "Content-Length: \(count)|Expect: 100-continue"

    static let refusalsCases: [Exchange] = [
        refused("6.3 a refused length", "Content-Length: \(count)", smuggled, goesOn: true),
        refused("6.3 refused chunks", chunked, "\(size)|\(smuggled)|0||", goesOn: true),
        refused(
            "6.3 refused chunks with a trailer",
            chunked,
            "1|x|0;a|X: b||",
            method: "GET",
            goesOn: true
        ),
        Exchange(
            "6.3 a refused HEAD with a body",
            "HEAD /refused HTTP/1.1|Host: a|Content-Length: 3||abc" + next,
            ["HEAD 401 4", nextAnswer],
            .stays
        ),
        refused("6.3 a body too long to be read", "Content-Length: 1048577", "", goesOn: false),
        refused("6.3 a chunk too long to be read", chunked, "100001|", goesOn: false),
        refused("6.3 refused chunks that are none", chunked, "1|xx|0||", goesOn: false),
        refused("6.3 a refused client that may not send", expecting, "", goesOn: false),
        Exchange(
            "6.3 nothing behind 204",
            "GET /empty HTTP/1.1|Host: a||" + next,
            ["204", nextAnswer],
            .stays
        ),
        Exchange(
            "6.3 nothing behind 304",
            "GET /unmodified HTTP/1.1|Host: a||" + next,
            ["304", nextAnswer],
            .stays
        ),
    ]

    @Test(
        "Section 6.3: bodies of refused requests",
        arguments: refusalsCases,
        Exchange.Way.allCases
    )
    func refusals(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }

    private static func chunks(_ name: String, _ coded: String, _ body: String) -> Exchange {
        Exchange(
            name,
            "POST /echo HTTP/1.1|Host: a|Transfer-Encoding: chunked||\(coded)" + next,
            [body.isEmpty ? "200" : "200 \(body)", nextAnswer],
            .stays
        )
    }

    private static func chunks(_ name: String, refused coded: String) -> Exchange {
        Exchange(
            name,
            "POST /echo HTTP/1.1|Host: a|Transfer-Encoding: chunked||\(coded)",
            refused: 400
        )
    }

    static let codedCases: [Exchange] = [
        chunks("7.1 no chunk but the last", "0||", ""),
        chunks("7.1 a last chunk of many zeros", "000||", ""),
        chunks("7.1 sizes in any case", "a|0123456789|A|0123456789|0||", "01234567890123456789"),
        chunks("7.1 zeros before a size", "0003|abc|0||", "abc"),
        chunks("7.1 data that looks like an end", "7|\r\n0\r\n\r\n|0||", "\r\n0\r\n\r\n"),
        chunks("7.1 no size", refused: "|abc|0||"),
        chunks("7.1 a size that is no number", refused: "x|abc|0||"),
        chunks("7.1 a size with a prefix", refused: "0x3|abc|0||"),
        chunks("7.1 a size with a sign", refused: "+3|abc|0||"),
        chunks("7.1 a negative size", refused: "-3|abc|0||"),
        chunks("7.1 a space before a size", refused: " 3|abc|0||"),
        chunks("7.1 a space behind a size", refused: "3 |abc|0||"),
        chunks("7.1 a size with a grouping", refused: "1_0|abc|0||"),
        chunks("7.1 a size beyond 60 bits", refused: "1000000000000003|abc|0||"),
        chunks("7.1 a size of 16 digits", refused: "0000000000000003|abc|0||"),
        chunks("7.1 a size line that ends with LF", refused: "3\nabc|0||"),
        chunks("7.1 a size line that ends with CR", refused: "3\rabc|0||"),
        chunks("7.1 data that ends with LF", refused: "3|abc\n0||"),
        chunks("7.1 data that ends with CR", refused: "3|abc\r0||"),
        chunks("7.1 more data than was told", refused: "3|abcd|0||"),
        chunks("7.1 less data than was told", refused: "4|abc|0||"),
        chunks("7.1 an end that ends with LF", refused: "0|\n"),
        chunks("7.1.1 an extension", "3;a|abc|0||", "abc"),
        chunks("7.1.1 an extension with a value", "3;a=b;c=\"d;e\"|abc|0||", "abc"),
        chunks("7.1.1 an extension of the last chunk", "3|abc|0;a=\"3\"||", "abc"),
        chunks("7.1.1 an extension without a size", refused: ";a|abc|0||"),
        chunks("7.1.1 a space before an extension", refused: "3 ;a|abc|0||"),
        chunks("7.1.1 LF in an extension", refused: "3;a\nb|abc|0||"),
        chunks("7.1.1 CR in an extension", refused: "3;a\rb|abc|0||"),
        chunks("7.1.1 a line's end in quotes", refused: "3;a=\"|abc|0||\"|abc|0||"),
        chunks("7.1.1 NUL in an extension", refused: "3;a\0|abc|0||"),
        chunks(
            "7.1.1 extensions that are too long",
            refused: "3;\(String(repeating: "a", count: 2000))|abc|0||"
        ),
        chunks("7.1.2 a trailer", "3|abc|0|X: y|Z:||", "abc"),
        chunks("7.1.2 a length in a trailer", "3|abc|0|Content-Length: 999||", "abc"),
        chunks("7.1.2 a coding in a trailer", "3|abc|0|Transfer-Encoding: gzip||", "abc"),
        chunks("7.1.2 a host in a trailer", "3|abc|0|Host: evil||", "abc"),
        chunks("7.1.2 an end in a trailer", "3|abc|0|Connection: close||", "abc"),
        chunks("7.1.2 a trailer that is no field", refused: "3|abc|0|X||"),
        chunks("7.1.2 a trailer without a name", refused: "3|abc|0|: a||"),
        chunks("7.1.2 a space before a colon", refused: "3|abc|0|X : a||"),
        chunks("7.1.2 a space before a trailer", refused: "3|abc|0| X: a||"),
        chunks("7.1.2 CR before a trailer", refused: "3|abc|0|\rX: a||"),
        chunks("7.1.2 a trailer that goes on", refused: "3|abc|0|X: a| b||"),
        chunks("7.1.2 a request where a trailer is due", refused: "3|abc|0|"),
        chunks("7.1.2 NUL in a trailer", refused: "3|abc|0|X: a\0||"),
        chunks("7.1.2 LF in a trailer", refused: "3|abc|0|X: a\n|"),
        chunks(
            "7.1.2 trailers that are too long",
            refused: "3|abc|0|X: \(String(repeating: "a", count: 5000))||"
        ),
        Exchange(
            "7.4 what the client could undo is of no interest",
            "POST /echo HTTP/1.1|Host: a|TE: trailers, gzip;q=1|Connection: TE|Content-Length: 3||abc",
            ["200 abc"],
            .stays
        ),
    ]

    @Test("Section 7: chunks", arguments: codedCases, Exchange.Way.allCases)
    func chunks(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }
}
