import System
import Testing

@Suite struct ByteSearchTests {
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
