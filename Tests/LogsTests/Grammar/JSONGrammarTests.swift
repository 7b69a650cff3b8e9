import Testing

@testable import Logs

/// RFC 8259 as a table, read as a log's value by both kinds of request that bring JSON.
@Suite struct JSONGrammarTests {
    let decoder = JSONLogDecoder()

    /// The places where a value may stand, each with what a log has of it there.
    private static let places:
        [(before: String, after: String, shown: @Sendable (String, String) -> String)] = [
            ("{\"v\":", "}", { value, _ in value }),
            ("{ \"v\" :\r\n\t", "\n, \"w\": 1 }", { value, _ in value }),
            ("{\"v\":[", "]}", { _, source in "[\(source)]" }),
            ("{\"v\":{\"w\":[[", "]]}}", { _, source in "{\"w\":[[\(source)]]}" }),
        ]

    /// The value of `v`, from a body of `/logs` and from one of web tracking, which must agree.
    private func read(_ body: [UInt8]) throws(LogDecodingError) -> String? {
        let plain: Result<EncodedLogs, LogDecodingError>
        do throws(LogDecodingError) { plain = .success(try decoder.plain(body)) } catch {
            plain = .failure(error)
        }
        let tracking = Array("{\"__logs__\":[".utf8) + body + Array("]}".utf8)
        let tracked: Result<EncodedLogs, LogDecodingError>
        do throws(LogDecodingError) {
            tracked = .success(try decoder.tracking(tracking).logs.sound)
        } catch { tracked = .failure(error) }
        switch (plain, tracked) {
        case (.success(let plain), .success(let tracked)):
            let values = [plain, tracked].map { (try? $0.read())?.first?.fields.first?.last }
            #expect(values[0] == values[1])
            return values[0]
        case (.failure(let error), .failure): throw error
        case (.success, .failure(let error)), (.failure(let error), .success):
            Issue.record("only one of the two refuses it: \(error)")
            throw error
        }
    }

    @Test("Every JSON value is read", arguments: JSONGrammar.valid)
    func valid(value: JSONGrammar.Valid) throws {
        for place in Self.places {
            let body = Array(place.before.utf8) + value.bytes + Array(place.after.utf8)
            let source = value.compact ?? String(decoding: value.bytes, as: UTF8.self)
            #expect(
                try read(body) == place.shown(value.text, source),
                "\(value.name), \(place.before)"
            )
        }
    }

    @Test("Text that is not JSON is refused wherever it stands", arguments: JSONGrammar.invalid)
    func invalid(value: JSONGrammar.Invalid) {
        for place in Self.places {
            let body = Array(place.before.utf8) + value.bytes + Array(place.after.utf8)
            #expect(throws: LogDecodingError.self, "\(value.name), \(place.before)") {
                try read(body)
            }
        }
    }

    @Test("Cases that RFC 8259 leaves open are decided", arguments: JSONGrammar.decided)
    func decided(value: JSONGrammar.Decided) throws {
        let body = Array("{\"v\":".utf8) + value.bytes + Array("}".utf8)
        guard let text = value.text else {
            #expect(throws: LogDecodingError.self, "\(value.name)") { try read(body) }
            return
        }
        #expect(try read(body) == text, "\(value.name)")
    }

    @Test("Each byte that is not UTF-8 is refused, in values, in names and between them")
    func defects() {
        for (name, bytes) in UTF8Defects.all {
            for (before, after) in [
                ("{\"v\":\"", "\"}"), ("{\"v\":\"0123456789abcdef", "0123456789abcdef\"}"),
                ("{\"", "\":1}"), ("{\"v\":[\"", "\"]}"), ("{\"v\":1", "}"), ("{\"v\":1}", ""),
            ] {
                let body = Array(before.utf8) + bytes + Array(after.utf8)
                #expect(throws: LogDecodingError.self, "\(name) after \(before)") { try read(body) }
            }
        }
    }

    @Test("Each character of UTF-8 at the ends of its range is a value")
    func characters() throws {
        for scalar in UTF8Defects.sound {
            let text = String(Character(scalar))
            #expect(try read(Array("{\"v\":\"\(text)\"}".utf8)) == text)
        }
    }

    /// Each value, cut at each of its bytes, at the end of a body.
    @Test("A truncated body is refused at every length")
    func parts() {
        for value in JSONGrammar.valid {
            let body = Array("{\"v\":".utf8) + value.bytes + Array("}".utf8)
            for count in 1..<body.count {
                #expect(throws: LogDecodingError.self, "\(value.name), \(count) bytes") {
                    try decoder.plain(Array(body[..<count]))
                }
            }
        }
    }
}

/// Values in the manner of the public suites: sound ones, broken ones, and those about which RFC
/// 8259 says nothing.
enum JSONGrammar {
    struct Valid: Sendable {
        let name: String
        let bytes: [UInt8]
        /// As a log has it.
        let text: String
        /// As it stands inside of another value; nil for as it came.
        let compact: String?

        init(_ name: String, _ source: String, _ text: String, compact: String? = nil) {
            (self.name, bytes, self.text, self.compact) = (name, Array(source.utf8), text, compact)
        }
    }

    struct Invalid: Sendable {
        let name: String
        let bytes: [UInt8]

        init(_ name: String, _ source: String) { self.init(name, Array(source.utf8)) }
        init(_ name: String, _ bytes: [UInt8]) { (self.name, self.bytes) = (name, bytes) }
    }

    struct Decided: Sendable {
        let name: String
        let bytes: [UInt8]
        /// Nil where it is refused.
        let text: String?

        init(_ name: String, _ source: String, _ text: String?) {
            (self.name, bytes, self.text) = (name, Array(source.utf8), text)
        }
    }

    static let valid: [Valid] = numbers + strings + nested

    private static let numbers =
        [
            "0", "-0", "1", "-1", "10", "123456789", "0.0", "-0.0", "0.1", "-0.1", "1.0", "1.000",
            "0e0",
            "0e+0", "0e-0", "0E0", "1e1", "1E1", "1e+1", "1e-1", "1E+01", "1.5e10", "-1.5E-10",
            "20e1",
            "123.456e78", "0.00000000000000000000000000000000000001",
        ].map { Valid("number \($0)", $0, $0) }
        + ["true", "false"].map { Valid($0, $0, $0) }

    private static let strings = [
        Valid("empty", #""""#, "", compact: #""""#),
        Valid("space", #"" ""#, " "),
        Valid("letters", #""asd""#, "asd"),
        Valid("null in quotes", #""null""#, "null"),
        Valid("structure in quotes", #""{}[],:""#, "{}[],:"),
        Valid("each escape", #""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        Valid("escape of a slash or none", #""/\/""#, "//"),
        Valid("backslash and u", #""\\u0041""#, #"\u0041"#),
        Valid("backslashes", #""\\\\\\""#, #"\\\"#),
        Valid("quote behind backslashes", #""\\\"\\""#, #"\"\"#),
        Valid("hexadecimal of both cases", #""\u00eF\u00Ef""#, "ïï"),
        Valid("escaped NUL", #""\u0000""#, "\0"),
        Valid("escaped control character", #""\u001F""#, "\u{1F}"),
        Valid("escaped DEL", #""\u007F""#, "\u{7F}"),
        Valid("DEL", "\"\u{7F}\"", "\u{7F}"),
        Valid("escaped pair", #""\uD801\udc37""#, "\u{10437}"),
        Valid("two escaped pairs", #""\ud83d\ude39\ud83d\udc8d""#, "😹💍"),
        Valid("last character", #""\uDBFF\uDFFF""#, "\u{10FFFF}"),
        Valid("escaped noncharacters", #""\uFFFE\uD83F\uDFFE""#, "\u{FFFE}\u{1FFFE}"),
        Valid("escaped line separators", #""\u2028\u2029""#, "\u{2028}\u{2029}"),
        Valid("line separators", "\"\u{2028}\u{2029}\"", "\u{2028}\u{2029}"),
        Valid("no break space", "\"\u{A0}\"", "\u{A0}"),
        Valid("mark of byte order", "\"\u{FEFF}\"", "\u{FEFF}"),
        Valid("comment in a string", #""a/*b*/c//d""#, "a/*b*/c//d"),
        Valid("two, three and four bytes", "\"é€𝄞\"", "é€𝄞"),
    ]

    private static let nested = [
        Valid("empty array", "[]", "[]"),
        Valid("empty array with space", "[ \n\r\t ]", "[]", compact: "[]"),
        Valid("array of all", #"[null,1,"1",{},[],true]"#, #"[null,1,"1",{},[],true]"#),
        Valid("array with space", "[ 1 , 2 ]", "[1,2]", compact: "[1,2]"),
        Valid("arrays of strings with brackets", #"["]","["]"#, #"["]","["]"#),
        Valid("empty object", "{}", "{}"),
        Valid("object", #"{"a":1}"#, #"{"a":1}"#),
        Valid(
            "object with space",
            "{ \"a\" :\t1 ,\r\n\"b\" : [ ] }",
            #"{"a":1,"b":[]}"#,
            compact: #"{"a":1,"b":[]}"#
        ),
        Valid("empty name", #"{"":0}"#, #"{"":0}"#),
        Valid("repeated name", #"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#),
        Valid("escaped name", #"{"\u0061\"":0}"#, #"{"\u0061\"":0}"#),
        Valid(
            "names that JavaScript knows",
            #"{"__proto__":{"constructor":null}}"#,
            #"{"__proto__":{"constructor":null}}"#
        ),
    ]

    static let invalid: [Invalid] =
        [
            "+1", "++1", "+0", "-", "--1", "-a", "- 1", "01", "-01", "00", "0x1", "0x", "0b1",
            "0o7", "1_000",
            ".1", ".", "-.1", "1.", "-1.", "0.e1", "1.e1", "0.1.2", "1e", "1E", "1e+", "1e-",
            "1e+-1", "1e1.5",
            "1eE2", "e1", "1 000", "1a", "1/2", "1-1", "2.e-3", "NaN", "nan", "Infinity",
            "-Infinity", "Inf",
            "-NaN", "0e+-1", "１", "-１", "∞", "0,1,", "1f", "1n", "1.0d", "$1",
        ].map { Invalid("number \($0)", $0) }
        + [
            "tru", "truee", "True", "TRUE", "fals", "falsee", "False", "nul", "nulll", "Null",
            "NULL", "undefined",
            "none", "yes", "a", "'a'", "`a`", "\u{201C}a\u{201D}", "t", "true false", "truе",
        ].map { Invalid("word \($0)", $0) }
        + [
            "\"", "\"a", "a\"", "\"a\"b", "\"a\"\"b\"", #""\""#, #""\\\""#, #""\a""#, #""\0""#,
            #""\'""#, #""\v""#,
            #""\x41""#, #""\U0041""#, #""\u""#, #""\u0""#, #""\u00""#, #""\u004""#, #""\u004g""#,
            #""\uG041""#,
            #""\u{41}""#, #""\u 041""#, #""\u+041""#, #""\ ""#, #""\🌀""#, #"\u0022a\u0022"#,
            #"\"a\""#,
            #""\ud800\u""#, #""\ud800\u1""#, #""\ud800\uzzzz""#, "\"a\nb\"", "\"a\rb\"", "\"a\tb\"",
            "\"a\0b\"",
            "\"\u{1F}\"", "\"\u{8}\"", "\"\u{C}\"",
        ].map { Invalid("string \($0)", $0) }
        + [
            ",", ":", "[", "]", "{", "}", "[1", "1]", "[1,", "[,", "[,]", "[,1]", "[1,]",
            "[1,,2]", "[1 2]",
            "[1:2]", "[1}", "[[]", "[]]", "[1]x", "[\"a\"", "[\"a", "[\"a\"}", "[tru]", "[-]",
            "[1,\n1\n,1",
            "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{,\"a\":1}",
            "{\"a\" 1}", "{\"a\",1}",
            "{\"a\"::1}", "{\"a\":1:2}", "{\"a\":1 \"b\":2}", "{\"a\":1,,\"b\":2}", "{\"a\":1]",
            "{a:1}", "{1:1}",
            "{'a':1}", "{null:1}", "{[1]:1}", "{{}:1}", "{\"a\"}", "{\"a\":}", "{:1}", "{\"a\":1}}",
            "{}{}", "[][]",
            "{} []", "{\"a\":/*c*/1}", "/*c*/1", "1//c", "#c", "1;", "1=1", "<a>", "(1)", "&", "@",
            "\\", "\\n", "*",
        ].map { Invalid("structure \($0)", $0) }
        + [
            ("form feed", [0x31, 0x0C]), ("vertical tab", [0x0B, 0x31]), ("NUL", [0x31, 0x00]),
            ("NUL before", [0x00, 0x31]),
            ("no break space", [0xC2, 0xA0, 0x31]), ("next line", [0xC2, 0x85, 0x31]),
            ("mark of byte order", [0xEF, 0xBB, 0xBF, 0x31]),
            ("line separator", [0xE2, 0x80, 0xA8, 0x31]),
            ("ideographic space", [0xE3, 0x80, 0x80, 0x31]),
            ("word joiner", [0xE2, 0x81, 0xA0, 0x31]), ("backspace", [0x31, 0x08]),
            ("escape", [0x1B, 0x31]), ("DEL", [0x31, 0x7F]),
        ].map { Invalid("space that is none: \($0.0)", $0.1) }

    static let decided: [Decided] = [
        // Numbers are kept as text: none is too large or too exact.
        Decided("integer beyond 64 bits", "100000000000000000000", "100000000000000000000"),
        Decided(
            "integer of 200 digits",
            String(repeating: "9", count: 200),
            String(repeating: "9", count: 200)
        ),
        Decided("beyond the range of a double", "1e400", "1e400"),
        Decided("below it", "-1e-400", "-1e-400"),
        Decided(
            "exponent of 30 digits",
            "1e" + String(repeating: "1", count: 30),
            "1e" + String(repeating: "1", count: 30)
        ),
        Decided(
            "exact beyond a double",
            "0.1000000000000000055511151231257827",
            "0.1000000000000000055511151231257827"
        ),
        // Half of a pair is no character; it becomes U+FFFD and costs no log.
        Decided("first half alone", #""\ud800""#, "\u{FFFD}"),
        Decided("second half alone", #""\udc00""#, "\u{FFFD}"),
        Decided("halves the wrong way round", #""\udd1e\ud834""#, "\u{FFFD}\u{FFFD}"),
        Decided("first half twice", #""\ud800\ud800""#, "\u{FFFD}\u{FFFD}"),
        Decided("first half before a letter", #""\ud800abc""#, "\u{FFFD}abc"),
        Decided("first half before an escape", #""\ud800\n""#, "\u{FFFD}\n"),
        // Nesting is limited, on both sides of the limit.
        Decided("as deep as may be", deep(61), deep(61)),
        Decided("one deeper", deep(64), nil),
        Decided("100,000 deep", deep(100_000), nil),
        Decided("100,000 deep without an end", String(repeating: "[", count: 100_000), nil),
        Decided(
            "objects 100,000 deep without an end",
            String(repeating: "{\"\":", count: 100_000),
            nil
        ),
        // Nothing is a value, too.
        Decided("null", "null", ""),
    ]

    private static func deep(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
}

/// Defects of UTF-8 (RFC 3629), each at both ends of its range.
enum UTF8Defects {
    static let all: [(name: String, bytes: [UInt8])] = {
        var all: [(name: String, bytes: [UInt8])] = [
            ("five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
            ("six bytes", [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80]),
            ("FE", [0xFE]), ("FF", [0xFF]), ("mark of UTF-16", [0xFF, 0xFE]),
            ("surrogate pair as CESU-8", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),
            ("Latin-1", [0x63, 0x61, 0x66, 0xE9]),
        ]
        for byte: UInt8 in 0x80...0xBF {
            all.append(("continuation alone", [byte]))
            all.append(("two bytes for ASCII", [0xC0, byte]))
            all.append(("two bytes for ASCII", [0xC1, byte]))
        }
        for lead: UInt8 in 0xC2...0xF4 {
            all.append(("nothing after the first", [lead]))
            all.append(("ASCII after the first", [lead, 0x41]))
            all.append(("a first byte as the second", [lead, 0xC3, 0x80]))
        }
        for lead: UInt8 in 0xE0...0xEF {
            let second: UInt8 = lead == 0xE0 ? 0xA0 : 0x80
            all.append(("two of three", [lead, second]))
            all.append(("ASCII as the third", [lead, second, 0x41]))
        }
        for lead: UInt8 in 0xF0...0xF4 {
            let second: UInt8 = lead == 0xF0 ? 0x90 : 0x80
            all.append(("three of four", [lead, second, 0x80]))
            all.append(("ASCII as the fourth", [lead, second, 0x80, 0x41]))
            all.append(("a first byte as the fourth", [lead, second, 0x80, 0xC3]))
        }
        for second: UInt8 in 0x80...0x9F {
            all.append(("three bytes for two", [0xE0, second, 0x80]))
        }
        for second: UInt8 in 0xA0...0xBF { all.append(("half of a pair", [0xED, second, 0x80])) }
        for second: UInt8 in 0x80...0x8F {
            all.append(("four bytes for three", [0xF0, second, 0x80, 0x80]))
        }
        for second: UInt8 in 0x90...0xBF {
            all.append(("beyond U+10FFFF", [0xF4, second, 0x80, 0x80]))
        }
        for lead: UInt8 in 0xF5...0xFD {
            all.append(("a first byte of none", [lead, 0x80, 0x80, 0x80]))
        }
        return all
    }()

    /// Swift's own literals refuse some of these.
    static let sound = [
        0x20, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD7FF, 0xE000, 0xFDD0, 0xFEFF,
        0xFFFD, 0xFFFE,
        0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
    ].compactMap { Unicode.Scalar($0 as UInt32) }
}
