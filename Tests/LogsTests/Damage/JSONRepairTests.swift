import TestSupport
import Testing

@testable import Logs

@Suite
struct JSONRepairTests {
    private func repaired(_ text: [UInt8], adding: Int = 1 << 20) throws -> [UInt8]? {
        var repair = JSONRepair()
        return try text.withUnsafeBufferPointer { text in
            guard try repair.run(text, adding: adding) else { return nil }
            return Array(repair.copy)
        }
    }

    private func repaired(_ text: String) throws -> String? {
        try repaired(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Sound text is not changed", arguments: JSONGrammar.valid.indices)
    func sound(index: Int) throws {
        #expect(try repaired(JSONGrammar.valid[index].bytes) == nil)
    }

    @Test("Bytes that are not UTF-8 become what the standard library makes of them")
    func utf8() throws {
        var random = SeededRandom(seed: 11)
        let bytes: [UInt8] = [
            0x41, 0x42, 0x80, 0x9F, 0xA0, 0xBF, 0xC1, 0xC3, 0xE0, 0xE4, 0xED, 0xEF, 0xF0, 0xF4,
            0xF5, 0xFF,
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...9, using: &random))
                .map { _ in bytes.randomElement(using: &random)! }
            let whole = [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
            let expected = String(decoding: whole, as: UTF8.self)
            let copy = try repaired(whole)
            #expect(copy ?? whole == Array(expected.utf8), "\(text)")
            #expect((copy == nil) == (Array(expected.utf8) == whole))
        }
    }

    @Test(
        "Control characters are escaped in strings and blank elsewhere",
        arguments: [
            ("{\"a\":\"b\nc\td\re\u{8}f\u{c}\"}", #"{"a":"b\nc\td\re\bf\f"}"#),
            ("{\"a\u{0}\":\"\u{1b}[31m\u{1f}\"}", #"{"a\u0000":"\u001b[31m\u001f"}"#),
            ("{\"a\":\u{0}1}\u{0}\u{0}", "{\"a\": 1}  "),
            ("{\"a\":\"c:\\\nd\"}", #"{"a":"c:\\\nd"}"#),
            ("{\"a\":\"\\\"\n\"}", #"{"a":"\"\n"}"#),
        ]
    )
    func control(text: String, copy: String) throws {
        #expect(try repaired(text) == copy)
    }

    @Test(
        "A backslash in front of a damaged byte is text: it is the second byte of a character of GBK"
    )
    func backslash() throws {
        let gbk: [UInt8] = [0x22, 0x95, 0x5C, 0x95, 0x5C, 0x22]
        // The last one is in front of the quote, and no program can tell.
        #expect(try repaired(gbk) == Array("\"\u{FFFD}\\\\\u{FFFD}\\\"".utf8))
    }

    @Test(
        "Numbers that JSON cannot write become their text",
        arguments: [
            (#"{"a":NaN}"#, #"{"a":"NaN"}"#),
            (#"[nan,-inf, Infinity]"#, #"["nan","-inf", "Infinity"]"#),
            (#"{"a":-Infinity ,"b":+INF}"#, #"{"a":"-Infinity" ,"b":"+INF"}"#), ("NaN", "\"NaN\""),
            (#"{"a":-nan}"#, #"{"a":"-nan"}"#),
        ]
    )
    func numbers(text: String, copy: String) throws {
        #expect(try repaired(text) == copy)
    }

    @Test(
        "Text that only looks like NaN stays",
        arguments: [
            #"{"NaN":"NaN"}"#, "nano", "xNaN", "NaN1", "-", "i", "-1", "null", "infinit",
            "{\"a\":NaNa}",
            "\"nan", "1.nan", "NaN.",
        ]
    )
    func words(text: String) throws {
        #expect(try repaired(text) == nil)
    }

    @Test("Every place of a repaired copy is traced to its source")
    func source() throws {
        var random = SeededRandom(seed: 5)
        let pieces: [[UInt8]] = [
            Array("ab".utf8), [0xFF], [0xE4, 0xB8], [0x01], Array("\\n".utf8), [0x5C, 0x0A],
            Array("世".utf8),
        ]
        for _ in 0..<300 {
            // A letter that stands once marks a place.
            let before = (0..<5).flatMap { _ in pieces.randomElement(using: &random)! }
            let after = (0..<5).flatMap { _ in pieces.randomElement(using: &random)! }
            let text = Array("[NaN,\"".utf8) + before + Array("X".utf8) + after + Array("\"]".utf8)
            var repair = JSONRepair()
            try text.withUnsafeBufferPointer { text in
                #expect(try repair.run(text, adding: 1000))
                let copy = Array(repair.copy)
                let place = try #require(copy.firstIndex(of: UInt8(ascii: "X")))
                #expect(
                    repair.source(of: place, in: text) == text.firstIndex(of: UInt8(ascii: "X"))
                )
                #expect(repair.source(of: copy.count, in: text) == text.count)
                for place in copy.indices {
                    #expect(0...text.count ~= repair.source(of: place, in: text))
                }
            }
        }
    }

    @Test("A repaired copy grows by no more than allowed")
    func bound() throws {
        let text = [UInt8(ascii: "\"")] + [UInt8](repeating: 1, count: 1000)
        #expect(throws: JSONFault.self) { try repaired(text, adding: 4999) }
        #expect(try repaired(text, adding: 5000)?.count == 6001)
        let bad = [UInt8](repeating: 0xFF, count: 1000)
        #expect(throws: JSONFault.self) { try repaired(bad, adding: 1999) }
        #expect(try repaired(bad, adding: 2000)?.count == 3000)
    }

    private func pieces(_ text: String, from start: Int = 0) -> [String] {
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBufferPointer { text in
            var pieces = JSONPieces(text, from: start)
            var found: [String] = []
            while let range = pieces.next() {
                found.append(String(decoding: text[range], as: UTF8.self))
            }
            return found
        }
    }

    static let cases: [(text: String, pieces: [String])] = [
        ("", []), (" \n\u{0}[,]\u{FEFF}", []),
        ("{}{\"a\":1} {\"b\":{}}", ["{}", "{\"a\":1}", "{\"b\":{}}"]),
        ("[{\"a\":\"}\\\"}\"},{\"b\":[{}]}]", ["{\"a\":\"}\\\"}\"}", "{\"b\":[{}]}"]),
        // A line that was cut takes nothing of the next one along, in a string or not.
        ("{\"a\":{\n{\"b\":2}\n", ["{\"a\":{", "{\"b\":2}"]),
        ("{\"a\":\"x\n{\"b\":2}", ["{\"a\":\"x", "{\"b\":2}"]),
        ("{\"a\":\"x\\\n{\"b\":2}", ["{\"a\":\"x\\", "{\"b\":2}"]),
        ("{\"a\":[\n[{\"b\":2}]", ["{\"a\":[", "{\"b\":2}"]),
        // Text that follows and is no object belongs to it.
        ("{\"a\":\"x\n  at y\n{\"b\":2}", ["{\"a\":\"x\n  at y", "{\"b\":2}"]),
        // A raw line feed in a string.
        ("{\"a\":\"x\ny\"}\n{\"b\":2}", ["{\"a\":\"x\ny\"}", "{\"b\":2}"]),
        // Text that does not begin with a brace is a line.
        ("x {\"a\":1}\n{\"b\":2}\ny\n", ["x {\"a\":1}", "{\"b\":2}", "y"]),
        ("{\"a\":1}}\n{\"b\":2}", ["{\"a\":1}", "}", "{\"b\":2}"]),
        // Written for people.
        (
            "[\n  {\n    \"a\": {\n      \"b\": 1\n    }\n  },\n  {\n    \"a\": 2\n  }\n]",
            [
                "{\n    \"a\": {\n      \"b\": 1\n    }\n  }", "{\n    \"a\": 2\n  }",
            ]
        ),
        (
            "[\n  {\n    \"a\": {\n      \"b\": 1\n  },\n  {\n    \"a\": 2\n  }\n]",
            [
                "{\n    \"a\": {\n      \"b\": 1\n  },", "{\n    \"a\": 2\n  }",
            ]
        ),
        // The end is missing.
        ("[{\"a\":1},{\"a\":", ["{\"a\":1}", "{\"a\":"]), ("{\"a\":1}\n{", ["{\"a\":1}", "{"]),
        ("{\"a\":1\r\n{\"b\":2}\r\n", ["{\"a\":1", "{\"b\":2}"]),
    ]

    @Test("A damaged body is cut into objects and other text", arguments: cases.indices)
    func cuts(index: Int) {
        let (text, expected) = Self.cases[index]
        #expect(pieces(text) == expected)
    }

    @Test("Cutting can begin in the middle of a line")
    func middle() {
        #expect(pieces("  {\"a\":1},{\"b\":\n {\"c\":1}", from: 10) == ["{\"b\":", "{\"c\":1}"])
    }

    @Test("All of a text is in a piece or between pieces, in order")
    func random() {
        var random = SeededRandom(seed: 2)
        let pieces = ["{", "}", "\"", "\\", "\n", " ", "a", ":1", "[", "]", ",", "\n{", "\n ["]
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 0...30, using: &random))
                .map { _ in pieces.randomElement(using: &random)! }.joined()
            let found = self.pieces(text)
            var rest = text[...]
            for piece in found {
                #expect(!piece.isEmpty)
                guard let range = rest.firstRange(of: piece) else {
                    Issue.record("\(piece) is not in the rest of \(text)")
                    continue
                }
                let between = rest[..<range.lowerBound]
                #expect(between.allSatisfy { " \n,[]".contains($0) }, "\(text)")
                rest = rest[range.upperBound...]
            }
            #expect(rest.allSatisfy { " \n,[]".contains($0) }, "\(text)")
        }
    }
}
