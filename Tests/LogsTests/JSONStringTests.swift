import Testing

@testable import Logs

@Suite struct JSONStringTests {
    let decoder = JSONLogDecoder()

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
    static let mistakes: [(text: [UInt8], position: Int, reason: JSONFault.Reason)] = [
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

    @Test("Mistakes in strings are refused with their place", arguments: mistakes.indices)
    func mistake(index: Int) {
        let (text, position, reason) = Self.mistakes[index]
        // As a value, in a nested value, as a name: each starts at byte 6, or a little behind it.
        for (open, close, shift) in [
            ("{\"k\":\"", "\"}", 0), ("{\"k\":[\"", "\"]}", 1), ("    {\"", "\":1}", 0),
        ] {
            #expect(
                throws: LogDecodingError(position: position + shift, reason: reason.sentence)
            ) { try decoder.plain(Array(open.utf8) + text + Array(close.utf8)) }
        }
    }
}
