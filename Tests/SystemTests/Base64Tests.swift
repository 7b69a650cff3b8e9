import System
import Testing

@Suite struct Base64Tests {
    private func decoded(_ text: String, _ alphabet: Base64Alphabet) -> [UInt8]? {
        base64Decoded(Array(text.utf8)[...], alphabet)
    }

    @Test("Texts for URLs are one for each content")
    func url() {
        #expect(decoded("", .url) == [])
        #expect(decoded("AQ", .url) == [1])
        #expect(decoded("_-8", .url) == [0xFF, 0xEF])
        for wrong in ["A", "AR", "AQ==", "AQ=", "+/8", "_-9", "A Q", "AAAAA"] {
            #expect(decoded(wrong, .url) == nil, "\(wrong)")
        }
    }

    @Test("Others may be padded, and end in any bits")
    func standard() {
        #expect(decoded("", .standard) == [])
        for text in ["AQ", "AR", "AQ=", "AQ=="] { #expect(decoded(text, .standard) == [1]) }
        #expect(decoded("/+8", .standard) == [0xFF, 0xEF])
        for wrong in ["A", "AQ===", "_-8", "A Q", "A=Q=", "AAAAA"] {
            #expect(decoded(wrong, .standard) == nil, "\(wrong)")
        }
    }
}
