import TestSupport
import Testing

@testable import Logs

@Suite struct LokiLabelTextTests {
    private func read(_ text: [UInt8]) throws(LokiLabelText.Mistake) -> [[String]] {
        let result: Result<[[String]], LokiLabelText.Mistake> = text.withUnsafeBufferPointer {
            text in
            Result { () throws(LokiLabelText.Mistake) in
                var reader = LokiLabelText(text)
                var (name, value): ([UInt8], [UInt8]) = ([], [])
                var labels: [[String]] = []
                while try reader.next(name: &name, value: &value) {
                    labels.append(
                        [name, value].map { String(decoding: $0, as: UTF8.self) }
                    )
                }
                return labels
            }
        }
        return try result.get()
    }

    @Test(
        "Labels are read as Loki and Prometheus write them",
        arguments: [
            ("{}", []), (" { } ", []), (#"{a="b"}"#, [["a", "b"]]),
            (#"{a="1", _b2="2",C="3",}"#, [["a", "1"], ["_b2", "2"], ["C", "3"]]),
            ("{ a = \"b\"\t,\n c = \"d\" , }\n", [["a", "b"], ["c", "d"]]),
            (#"{a="\a\b\f\n\r\t\v\\\""}"#, [["a", "\u{7}\u{8}\u{C}\n\r\t\u{B}\\\""]]),
            (#"{a='it\'s "x"'}"#, [["a", "it's \"x\""]]), (#"{a=`\n"'`}"#, [["a", "\\n\"'"]]),
            (#"{a="\x41\102\u4e16\U0001F600"}"#, [["a", "AB世😀"]]),
            (#"{a="\xe4\xb8\x96"}"#, [["a", "世"]]), (#"{a="\ud83d"}"#, [["a", "\u{FFFD}"]]),
            (#"{"service.name"="x", "é"="y"}"#, [["service.name", "x"], ["é", "y"]]),
            (#"{a="世界 }{,="}"#, [["a", "世界 }{,="]]), (#"{a=""}"#, [["a", ""]]),
        ] as [(String, [[String]])]
    )
    func sound(text: String, labels: [[String]]) throws {
        #expect(try read(Array(text.utf8)) == labels)
    }

    @Test(
        "Text that is no set of labels is refused",
        arguments: [
            "", "a", "{", "}", "{a}", "{a=}", "{a=b}", #"{a="b""#, #"{a="b"}}"#, #"{a="b"} x"#,
            #"{a="b" c="d"}"#, #"{,}"#, #"{a="b",,}"#, #"{1a="b"}"#, #"{a.b="c"}"#, #"{a=~"b"}"#,
            #"{a!="b"}"#, #"{="b"}"#, "{a=\"\n\"}", #"{a="\q"}"#, #"{a="\'"}"#, #"{a='\"'}"#,
            #"{a="\x4"}"#, #"{a="\x4g"}"#, #"{a="\777"}"#, #"{a="\18"}"#, #"{a="\u123"}"#,
            #"{a="\U00110000"}"#, #"{a="\UFFFFFFFF"}"#, #"{a="b'}"#, #"{a=`b"}"#, #"{"a"}"#,
            "{\u{A0}}", #"{é="a"}"#,
        ]
    )
    func mistakes(text: String) {
        #expect(throws: LokiLabelText.Mistake.self) { try read(Array(text.utf8)) }
    }

    @Test("Labels that are cut off are refused, wherever that is")
    func cut() {
        let text = Array(#"{app="sh\"op\u4e16", 'x y'=`z` , b="\101",}"#.utf8)
        for count in text.indices {
            #expect(throws: LokiLabelText.Mistake.self) { try read(Array(text[..<count])) }
        }
        #expect((try? read(text))?.count == 3)
    }

    @Test("Reading of any bytes ends")
    func random() {
        var random = SeededRandom(seed: 11)
        let tempting = Array(#"{}="'`,\xu0aU _"#.utf8) + [0xFF, 0]
        let whole = Array(#"{app="sh\"op\u4e16", 'x y'=`z` , b="\101"}"#.utf8)
        for _ in 0..<5000 {
            var text = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                text[place] = tempting.randomElement(using: &random)!
            }
            _ = try? read(text)
        }
    }
}
