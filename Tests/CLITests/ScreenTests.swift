import Testing

@testable import CLI

@Suite struct ScreenTests {
    private func plain(_ text: String) -> String {
        text.replacing("\u{1b}[H", with: "").replacing("\u{1b}[K", with: "")
            .replacing("\u{1b}[J", with: "")
    }

    @Test("A text that has room is shown from the top, and what was below it is gone")
    func fits() {
        let drawn = Screen(rows: 4, columns: 10).drawn("one\ntwo\n")
        #expect(drawn == "\u{1b}[Hone\u{1b}[K\ntwo\u{1b}[K\n\u{1b}[K\u{1b}[J")
    }

    @Test("What has no room is counted, so that the top stays in sight")
    func cut() {
        let text = (1...9).map { "line \($0)" }.joined(separator: "\n")
        let drawn = plain(Screen(rows: 5, columns: 10).drawn(text))
        #expect(drawn == "line 1\nline 2\nline 3\n… 6 more lines: sluice status")
        // A line that is broken takes more of it.
        let long = String(repeating: "x", count: 21)
        #expect(
            plain(Screen(rows: 5, columns: 10).drawn("\(long)\na\nb")).hasPrefix("\(long)\n… 2")
        )
    }
}
