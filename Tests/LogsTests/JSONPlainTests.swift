import Testing

@testable import Logs

@Suite
struct JSONPlainTests {
    let decoder = JSONLogDecoder()

    @Test(
        "An object, an array, lines and anything of these one after the other are logs",
        arguments: [
            #"{"a":"1"}{"b":"2"}"#,
            #"[{"a":"1"},{"b":"2"}]"#,
            "{\"a\":\"1\"}\n{\"b\":\"2\"}\n",
            "\r\n\r\n {\"a\":\"1\"}\r\n\r\n\t{\"b\":\"2\"}\r\n\r\n",
            #"[{"a":"1"}]{"b":"2"}"#,
            #"[] {"a":"1"} [ ] [{"b":"2"}] "#,
            "\u{FEFF}{\"a\":\"1\"}{\"b\":\"2\"}",
            "\u{FEFF}\n[{ \"a\" : \"1\" } , { \"b\" : \"2\" } ]",
        ]
    )
    func forms(body: String) throws {
        #expect(try decoder.plain(body) == [Read([["a", "1"]]), Read([["b", "2"]])])
    }

    @Test("A log may be without fields, an array without logs")
    func empty() throws {
        #expect(try decoder.plain("{}") == [Read([])])
        #expect(try decoder.plain("[]").isEmpty)
        #expect(try decoder.plain(" [ { } ] ") == [Read([])])
    }

    @Test(
        "Numbers keep their digits",
        arguments: [
            "0", "-0", "1", "-1", "1e5", "1E+5", "1e-05", "1.50", "0.1000", "-0.0",
            "9007199254740993",
            "18446744073709551615", "18446744073709551616", "-9223372036854775809",
            "123456789012345678901234567890123456789", "1e999", "-1e999", "0.1e-999",
            "0." + String(repeating: "123456789", count: 100),
        ]
    )
    func numbers(digits: String) throws {
        #expect(try decoder.plain("{\"n\":\(digits)}") == [Read([["n", digits]])])
        #expect(try decoder.plain("{\"n\": \(digits) ,\"m\":1}")[0].fields[0] == ["n", digits])
        #expect(try decoder.plain("{\"n\":[\(digits)]}") == [Read([["n", "[\(digits)]"]])])
    }

    @Test(
        "Text that only looks like a number is refused",
        arguments: [
            "+1", "01", "-", "-a", "1.", ".5", "1.e5", "1e", "1e+", "0x1F", "1_000", "NaN",
            "Infinity",
            "-Infinity", "1a", "1\"", "--1", "00", "1,5,", "1 2", "1\u{c}",
        ]
    )
    func notNumbers(text: String) {
        for body in ["{\"n\":\(text)}", "{\"n\":[\(text)]}", "{\"n\":\(text)"] {
            #expect(throws: LogDecodingError.self) { try decoder.plain(body) }
        }
    }

    @Test("true, false and null")
    func literals() throws {
        let body = #"{"t":true,"f": false ,"n":null,"all":[true,false,null]}"#
        let fields = [["t", "true"], ["f", "false"], ["n", ""], ["all", "[true,false,null]"]]
        #expect(try decoder.plain(body) == [Read(fields)])
    }

    @Test(
        "Words that are not literals are refused",
        arguments: [
            "tru", "truex", "True", "nul", "nulll", "fals", "false1", "undefined", "'a'", "t",
        ]
    )
    func notLiterals(text: String) {
        for body in ["{\"n\":\(text)}", "{\"n\":[\(text)]}", "{\"n\":\(text)"] {
            #expect(throws: LogDecodingError.self) { try decoder.plain(body) }
        }
    }

    @Test("Nested values become compact JSON that keeps strings and numbers as they were")
    func nested() throws {
        let value =
            "{ \"a b\" : [ 1.50 , \"x\\n\\u00e9 y\" , { } , [ ] , null ] ,\n\"\" : { \"c\" : -0 } }"
        let compact = #"{"a b":[1.50,"x\n\u00e9 y",{},[],null],"":{"c":-0}}"#
        #expect(try decoder.plain("{\"v\":\(value)}") == [Read([["v", compact]])])
    }

    @Test("The last value of a repeated name counts, however the name is written")
    func repeated() throws {
        let body = #"{"a":"1","b":"2","\u0061":"three","c":"4","b":[1, 2],"a":"5"}"#
        let fields = [["c", "4"], ["b", "[1,2]"], ["a", "5"]]
        #expect(try decoder.plain(body) == [Read(fields)])
        #expect(try decoder.plain(body + body) == [Read(fields), Read(fields)])
    }

    @Test("Names that differ a little are different")
    func similar() throws {
        let keys = (1...120).map { String(repeating: "k", count: $0) }
        let members = (keys + keys.map { "x" + $0 + "y" }).map { "\"\($0)\":\"\"" }
        let log = try decoder.plain("{" + members.joined(separator: ",") + "}")
        #expect(log[0].fields.count == 240)
    }

    @Test(
        "Repeated names are found among very many",
        arguments: [63, 64, 65, 66, 511, 512, 513, 5000]
    )
    func manyNames(count: Int) throws {
        let members = (0..<count).map { "\"k\($0)\":\"old\"" }
        let again = (0..<count).reversed().map { "\"k\($0)\":\"new\"" }
        let body = "{" + (members + again).joined(separator: ",") + "}"
        let fields = (0..<count).reversed().map { ["k\($0)", "new"] }
        #expect(try decoder.plain(body + "{}" + body) == [Read(fields), Read([]), Read(fields)])
    }

    @Test("Logs of every size around a change of the length's size stay whole")
    func sizes() throws {
        var body = ""
        var expected: [Read] = []
        for size in Array(100...140) + Array(16_360...16_390) + [0, 50, 70_000, 1, 300] {
            let value = String(repeating: "v", count: size)
            body += "{\"key\":\"\(value)\",\"n\":\(size)}"
            expected.append(Read([["key", value], ["n", "\(size)"]]))
        }
        #expect(try decoder.plain(body) == expected)
    }

    @Test("A decoder that refused a body reads the next one")
    func reuse() throws {
        #expect(throws: LogDecodingError.self) { try decoder.plain("{\"__time__\":5,\"a\":[[1,") }
        #expect(try decoder.plain("{\"a\":\"1\"}") == [Read([["a", "1"]])])
    }

    @Test("A body of ten MiB is read, whether of many logs, one string or one array")
    func large() throws {
        let line = "{\"level\":\"info\",\"message\":\"\(String(repeating: "m", count: 470))\"}\n"
        let many = String(repeating: line, count: (10 << 20) / line.utf8.count)
        #expect(try decoder.plain(Array(many.utf8)).count == (10 << 20) / line.utf8.count)

        var limits = LogLimits()
        limits.valueBytes = 10 << 20
        let patient = JSONLogDecoder(limits: limits)
        let text = String(repeating: "x\\n", count: 3 << 20)
        let log = try patient.plain("{\"text\":\"\(text)\"}")
        #expect(log[0].fields[0][1].utf8.count == 6 << 20)
        let array = "[" + String(repeating: "1, ", count: 3 << 20) + "2]"
        #expect(try patient.plain("{\"v\":\(array)}")[0].fields[0][1].utf8.count == 6 << 20 | 3)
    }

    @Test("Hostile bodies take no longer than others of their size", .timeLimit(.minutes(10)))
    func hostile() {
        let brackets = [UInt8](repeating: UInt8(ascii: "["), count: 10 << 20)
        #expect(throws: LogDecodingError.self) { try decoder.plain(brackets) }
        let braces = Array(String(repeating: "{\"a\":", count: 1 << 20).utf8)
        #expect(throws: LogDecodingError.self) { try decoder.plain(braces) }
        let spaces = Array(String(repeating: " ", count: 10 << 20).utf8)
        #expect(throws: LogDecodingError.self) { try decoder.plain(spaces) }
        // One name again and again, and very many names with the same first and last bytes.
        let same = (0..<300_000).map { _ in "\"a\":1" }.joined(separator: ",")
        #expect((try? decoder.plain("{\(same)}")) == [Read([["a", "1"]])])
        let alike = (0..<100_000).map { "\"prefix__\($0)__suffix_\":1" }.joined(separator: ",")
        var limits = LogLimits()
        limits.fields = 100_000
        let patient = JSONLogDecoder(limits: limits)
        #expect((try? patient.plain("{\(alike)}"))?[0].fields.count == 100_000)
    }

    // MARK: - Strings

    @Test(
        "Escapes become the characters that they stand for",
        arguments: [
            (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"), (#"\u0041\u00e9\u4E16"#, "Aé世"),
            (#"\ud83d\ude00"#, "😀"), (#"\uDBFF\uDFFF"#, "\u{10FFFF}"), (#"\u0000"#, "\0"),
            (#"a\u0000b"#, "a\0b"),
            (#"\u007f\u0080\u07ff\u0800\uffff"#, "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}"),
            ("\u{7F}\u{2028}é世😀", "\u{7F}\u{2028}é世😀"),
            (#"12345678\n12345678\n"#, "12345678\n12345678\n"),
            // Half of a surrogate pair costs neither its log nor the batch.
            (#"cut \ud83d"#, "cut \u{FFFD}"), (#"\ude00 cut"#, "\u{FFFD} cut"),
            (#"\ud83d\n"#, "\u{FFFD}\n"), (#"\ud83d\u0041"#, "\u{FFFD}A"),
            (#"\ud83d\ud83d\ude00"#, "\u{FFFD}😀"), (#"\ude00\ud83d"#, "\u{FFFD}\u{FFFD}"),
            (#"1234567\\"#, "1234567\\"), ("", ""), (" ", " "), (#"\\n"#, "\\n"),
        ]
    )
    func escapes(source: String, text: String) throws {
        #expect(try decoder.plain("{\"k\":\"\(source)\"}") == [Read([["k", text]])])
        // In a name, and as the source text in a nested value.
        let body = "{\"k\(source)\":[\"\(source)\"]}"
        #expect(try decoder.plain(body) == [Read([["k" + text, "[\"\(source)\"]"]])])
    }

    @Test("An escape may stand at any distance from the string's ends")
    func escapePlaces() throws {
        for before in 0..<20 {
            for after in 0..<20 {
                let (left, right) = (
                    String(repeating: "l", count: before), String(repeating: "r", count: after)
                )
                let body = "{\"k\":\"\(left)\\t\(right)\",\"next\":\"\\\\\"}"
                let fields = [["k", "\(left)\t\(right)"], ["next", "\\"]]
                #expect(try decoder.plain(body) == [Read(fields)])
            }
        }
    }

    /// Position and reason for each mistake, in a string that starts at byte 6.
    static let stringMistakes: [(text: [UInt8], position: Int, reason: JSONFault.Reason)] = [
        (Array(#"ab\x"#.utf8), 8, .badEscape), (Array(#"ab\u12g4"#.utf8), 8, .badEscape),
        (Array(#"ab\u12"#.utf8), 8, .badEscape),
        (Array(#"\ud800\uzzzz"#.utf8), 12, .badEscape),
        ([0x61, 0x0A], 7, .controlCharacter), ([0x61, 0x00], 7, .controlCharacter),
        ([0x1F], 6, .controlCharacter), ([0x61, 0x80], 7, .badUTF8), ([0xC0, 0x80], 6, .badUTF8),
        ([0xED, 0xA0, 0x80], 6, .badUTF8), ([0xF4, 0x90, 0x80, 0x80], 6, .badUTF8),
        ([0xE4, 0xB8], 6, .badUTF8), ([0xFF], 6, .badUTF8),
        ([0xF0, 0x80, 0x80, 0x80], 6, .badUTF8),
        ([0xE0, 0x80, 0x80], 6, .badUTF8), ([0xC3], 6, .badUTF8),
    ]

    @Test("Mistakes in strings are refused with their place", arguments: stringMistakes.indices)
    func stringMistake(index: Int) {
        let (text, position, reason) = Self.stringMistakes[index]
        // As a value, in a nested value, as a name: each starts at byte 6, or a little behind it.
        for (open, close, shift) in [
            ("{\"k\":\"", "\"}", 0), ("{\"k\":[\"", "\"]}", 1), ("    {\"", "\":1}", 0),
        ] {
            #expect(
                throws: LogDecodingError(position: position + shift, reason: reason.sentence)
            ) { try decoder.plain(Array(open.utf8) + text + Array(close.utf8)) }
        }
    }

    // MARK: - Mistakes

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
