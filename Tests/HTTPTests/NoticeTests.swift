import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// What the server tells its operator.
@Suite(.timeLimit(.minutes(1)))
struct NoticeTests {
    @Test(
        "Refused connections give one journal line in ten seconds that names the setting",
        arguments: [(true, "limits.connections_per_address"), (false, "limits.connections")]
    )
    func refusals(perAddress: Bool, setting: String) throws {
        let recorder = JournalRecorder(level: .info)
        let server = try TestServer(journal: recorder.journal) { limits in
            if perAddress { limits.connectionsPerAddress = 1 } else { limits.connections = 1 }
        }
        let first = try server.client()
        first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(first.answer()?.status == 200)
        for _ in 0..<5 { #expect(try server.client().answer()?.status == 503) }
        let written = recorder.lines.now
        #expect(written.count == 1)
        #expect(written.first?.contains(#""level":"warning""#) == true)
        #expect(written.first?.contains(#""refused":1,"limit":1,"setting":"\#(setting)""#) == true)
    }

    @Test("The next line about refused connections counts all since the last line")
    func counts() {
        let recorder = JournalRecorder()
        let notices = RefusalNotices(
            server: "http",
            limits: HTTPServer.Limits(),
            journal: recorder.journal
        )
        let begun = Moment.now
        for second in 0..<25 { notices.refusedFull(at: begun + .seconds(second)) }
        #expect(recorder.lines.now.count == 3)
        #expect(recorder.lines.now.dropFirst().allSatisfy { $0.contains(#""refused":10,"#) })
    }

    @Test(
        "Too few descriptors are a warning only if the limit of connections is configured",
        arguments: [(20_000, "debug"), (30_000, "warning")]
    )
    func descriptors(wanted: Int, level: String) {
        let recorder = JournalRecorder()
        #expect(
            HTTPServer.connections(within: wanted, descriptors: 4096, recorder.journal) == 3072
        )
        #expect(recorder.lines.now.count == 1)
        #expect(recorder.lines.now.first?.contains(#""level":"\#(level)""#) == true)
        #expect(recorder.lines.now.first?.contains("LimitNOFILE") == true)
    }

    @Test("With very few descriptors, some stay reserved for operators and SLS")
    func veryFewDescriptors() {
        let journal = JournalRecorder().journal
        #expect(HTTPServer.connections(within: 20_000, descriptors: 64, journal) == 16)
        #expect(HTTPServer.connections(within: 20_000, descriptors: 256, journal) == 192)
        #expect(HTTPServer.connections(within: 20_000, descriptors: 16, journal) == 1)
    }

    @Test("Enough descriptors give no journal line")
    func enoughDescriptors() {
        let recorder = JournalRecorder()
        #expect(
            HTTPServer.connections(within: 30_000, descriptors: 40_000, recorder.journal) == 30_000
        )
        #expect(recorder.lines.now.isEmpty)
    }
}
