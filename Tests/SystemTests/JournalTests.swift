import Testing

@testable import System

@Suite struct JournalTests {
    @Test("A JSON line quotes texts and keeps numbers as numbers")
    func jsonLine() {
        let lines = Locked<[String]>([])
        let journal = Journal(level: .info, format: .json) { bytes in
            lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
        journal.debug("unheard")
        journal.warning("queue \"full\"", ["bytes": 12, "path": "a\nb", "closed": true])
        let written = lines.withLock { $0 }
        #expect(written.count == 1)
        #expect(
            written[0].hasSuffix(
                #""level":"warning","event":"queue \"full\"","bytes":12,"path":"a\nb","closed":true}"#
                    + "\n"
            )
        )
    }

    @Test(
        "Control characters are escaped in each format",
        arguments: [Journal.Format.json, .text],
        [
            ("\u{1b}", "1b"), ("\u{7f}", "7f"), ("\u{85}", "85"), ("\u{9b}", "9b"),
            ("\u{9f}", "9f"), ("\u{2028}", "2028"), ("\u{2029}", "2029"),
        ]
    )
    func unprintable(format: Journal.Format, text: (character: String, code: String)) {
        let lines = Locked<[String]>([])
        let journal = Journal(level: .info, format: format) { bytes in
            lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
        journal.info("a\(text.character)b", ["key": "ü\(text.character)[31m"])
        let line = lines.withLock { $0.joined() }
        #expect(!line.unicodeScalars.contains(Unicode.Scalar(text.character)!))
        let code = String(repeating: "0", count: 4 - text.code.count) + text.code
        #expect(line.contains("\"a\\u\(code)b\""))
        #expect(line.contains("\"ü\\u\(code)[31m\""))
    }

    @Test("A time is printed as RFC 3339 with milliseconds")
    func time() {
        #expect(
            WallTime(nanoseconds: 1_736_843_400_123_000_000).rfc3339 == "2025-01-14T08:30:00.123Z"
        )
    }
}
