import Testing

@testable import System

@Suite struct JournalTests {
    @Test("A JSON line quotes what it carries and keeps numbers as numbers")
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

    @Test("A time is written as RFC 3339 with milliseconds")
    func time() {
        #expect(
            WallTime(nanoseconds: 1_736_843_400_123_000_000).rfc3339 == "2025-01-14T08:30:00.123Z"
        )
    }
}
