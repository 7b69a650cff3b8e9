import Testing

@testable import Logs

@Suite struct JSONMistakeTests {
    let decoder = JSONLogDecoder()

    static let mistakes: [(body: String, position: Int, reason: JSONFault.Reason)] = [
        ("", 0, .empty), ("  \n ", 0, .empty), ("\u{FEFF}", 3, .empty),
        ("1", 0, .logExpected), ("\"a\"", 0, .logExpected), ("null", 0, .logExpected),
        ("[1]", 1, .logExpected), ("[[{}]]", 1, .logExpected), ("[{},\"a\"]", 4, .logExpected),
        ("[{},]", 4, .logExpected), ("{},{}", 2, .logExpected), ("{}}", 2, .logExpected),
        ("{}x", 2, .logExpected), ("{} x", 3, .logExpected), ("[{}", 3, .unfinished),
        ("[", 1, .unfinished), ("[{},", 4, .unfinished), ("[{}{}]", 3, .arrayEndExpected),
        ("[{}}", 3, .arrayEndExpected),
        ("{", 1, .unfinished), ("{\"a\"", 4, .unfinished), ("{\"a\":", 5, .unfinished),
        ("{\"a\":1", 6, .unfinished), ("{\"a\":1,", 7, .unfinished), ("{\"a\":[1", 7, .unfinished),
        ("{\"a\":{\"b\"", 9, .unfinished), ("{\"a\":{\"b\":", 10, .unfinished),
        ("{\"a\":[]", 7, .unfinished),
        ("{\"a\":1,}", 7, .keyExpected), ("{a:1}", 1, .keyExpected), ("{1:1}", 1, .keyExpected),
        ("{,}", 1, .keyExpected), ("{[]:1}", 1, .keyExpected),
        ("{\"a\"}", 4, .colonExpected), ("{\"a\" 1}", 5, .colonExpected),
        ("{\"a\",1}", 4, .colonExpected),
        ("{\"a\":}", 5, .valueExpected), ("{\"a\":,\"b\":1}", 5, .valueExpected),
        ("{\"a\"::1}", 5, .valueExpected), ("{\"a\":]}", 5, .valueExpected),
        ("{\"a\":[,]}", 6, .valueExpected), ("{\"a\":[1,]}", 8, .valueExpected),
        ("{\"a\":1]", 6, .objectEndExpected), ("{\"a\":1 \"b\":2}", 7, .objectEndExpected),
        ("{\"a\":\"b\"x}", 8, .objectEndExpected), ("{\"a\":{\"b\":1]}", 11, .objectEndExpected),
        ("{\"a\":[1}}", 7, .arrayEndExpected), ("{\"a\":[1 2]}", 8, .arrayEndExpected),
        ("{\"a\":{\"b\" 1}}", 10, .colonExpected), ("{\"a\":{1:1}}", 6, .keyExpected),
        ("{\"a\":{\"b\":1,}}", 12, .keyExpected),
        ("{\"a\":tru}", 5, .badLiteral), ("{\"a\":01}", 5, .badNumber),
        ("{\"a\":#}", 5, .unexpectedCharacter),
        ("{\"a\":\\\"b\"}", 5, .unexpectedCharacter), ("{\"a\":é}", 5, .unexpectedCharacter),
        ("{\"a\":\"b}", 5, .unclosedString), ("{\"a\":\"b\\\"}", 5, .unclosedString),
        ("{\"a", 1, .unclosedString),
        ("\u{FEFF}{a", 4, .keyExpected),
    ]

    @Test(
        "A body that is not JSON is refused with the place and the reason",
        arguments: mistakes.indices
    )
    func mistake(index: Int) {
        let (body, position, reason) = Self.mistakes[index]
        #expect(
            throws: LogDecodingError(position: position, reason: reason.sentence),
            "\(body)"
        ) { try decoder.plain(body) }
    }

    @Test("Objects and arrays are nested 64 deep at most, the outermost included")
    func depth() throws {
        for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
            func body(_ depth: Int) -> String {
                let value = open == "[" ? "" : "1"
                return String(repeating: open, count: depth) + value
                    + String(repeating: close, count: depth)
            }
            #expect(try decoder.plain("{\"a\":\(body(63))}")[0].fields == [["a", body(63)]])
            #expect(try decoder.plain("[{\"a\":\(body(62))}]")[0].fields == [["a", body(62)]])
            let place = 5 + 63 * open.utf8.count
            let refused = LogDecodingError(
                position: place,
                reason: JSONFault.Reason.tooDeep(64).sentence
            )
            #expect(throws: refused) { try decoder.plain("{\"a\":\(body(64))}") }
        }
    }

    @Test("A body has no more logs than allowed")
    func count() throws {
        var limits = LogLimits()
        limits.logs = 3
        let decoder = JSONLogDecoder(limits: limits)
        #expect(try decoder.plain("{}[{},{}]").count == 3)
        let refused = LogDecodingError(
            position: 10,
            reason: JSONFault.Reason.tooManyLogs(3).sentence
        )
        #expect(throws: refused) { try decoder.plain("{}[{},{}] {}") }
    }

    @Test("Every reason fits an answer of 255 bytes and has nothing of the body in it")
    func reasons() {
        for (_, position, reason) in Self.mistakes {
            let error = LogDecodingError(position: position, reason: reason.sentence)
            #expect(error.description.utf8.count < 160)
        }
    }
}
