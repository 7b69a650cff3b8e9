import TestSupport
import Testing

@testable import Logs

@Suite struct JSONPiecesTests {
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
