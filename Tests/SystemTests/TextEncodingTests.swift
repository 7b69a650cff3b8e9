import System
import Testing

@Suite
struct TextEncodingTests {
    @Test("Each byte becomes two hexadecimal digits, in either case")
    func written() {
        #expect(hex([0x00, 0x9A, 0xFF]) == "009aff")
        #expect(hex([0x00, 0x9A, 0xFF], upper: true) == "009AFF")
    }

    @Test("A hexadecimal digit is decoded in either case, and other characters are refused")
    func read() {
        for value in UInt8.min...15 {
            for isUpper in [false, true] {
                let digits = Array(hex([value], upper: isUpper).utf8)
                #expect(hexValue(digits[1]) == value)
            }
        }
        let digits = Set("0123456789abcdefABCDEF".utf8)
        for byte in UInt8.min ... .max where !digits.contains(byte) {
            #expect(hexValue(byte) == nil, "\(byte)")
        }
    }

    @Test("A character is escaped whatever mark follows it")
    func marks() {
        for mark in ["", "\u{301}", "\u{200d}", "\u{fe0f}"] {
            let text = "a\"\(mark)b\n\(mark)".escaping(["\"": "\\\"", "\n": "\\n"])
            #expect(text.utf8.elementsEqual("a\\\"\(mark)b\\n\(mark)".utf8))
        }
    }

    private func decoded(_ text: String, _ alphabet: Base64Alphabet) -> [UInt8]? {
        base64Decoded(Array(text.utf8)[...], alphabet)
    }

    @Test("URL base64 accepts exactly one text for each value")
    func url() {
        #expect(decoded("", .url) == [])
        #expect(decoded("AQ", .url) == [1])
        #expect(decoded("_-8", .url) == [0xFF, 0xEF])
        for wrong in ["A", "AR", "AQ==", "AQ=", "+/8", "_-9", "A Q", "AAAAA"] {
            #expect(decoded(wrong, .url) == nil, "\(wrong)")
        }
    }

    @Test("Standard base64 may be padded, and its unused bits are ignored")
    func standard() {
        #expect(decoded("", .standard) == [])
        for text in ["AQ", "AR", "AQ=", "AQ=="] { #expect(decoded(text, .standard) == [1]) }
        #expect(decoded("/+8", .standard) == [0xFF, 0xEF])
        for wrong in ["A", "AQ===", "_-8", "A Q", "A=Q=", "AAAAA"] {
            #expect(decoded(wrong, .standard) == nil, "\(wrong)")
        }
    }

    @Test(
        "Finds a text wherever it is",
        arguments: [
            ("abc", "abc", true), ("abc", "xabc", true), ("abc", "abcx", true),
            ("abc", "ab", false), ("abc", "ab\0c", false), ("\0c", "ab\0c", true),
            ("", "", true), ("", "x", true), ("x", "", false),
        ]
    )
    func finds(text: String, content: String, isFound: Bool) {
        let found = Array(content.utf8).withUnsafeBytes { $0.contains(Array(text.utf8)) }
        #expect(found == isFound)
    }
}
