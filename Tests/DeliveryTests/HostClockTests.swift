import SLS
import Sandbox
import System
import Testing

@testable import Delivery

/// A host whose clock is so wrong that SLS refuses the times of its logs: they wait for the clock.
@Suite(.timeLimit(.minutes(1))) struct HostClockTests {
    let source: MemorySource
    let recorder: JournalRecorder
    let sandbox: TestSandbox

    init() throws {
        source = try MemorySource()
        recorder = try JournalRecorder()
        sandbox = try TestSandbox()
    }

    func forwarder() throws -> Forwarder {
        try TestSandbox.forwarder(source, [sandbox], recorder.journal) {
            $0.probeWaits = Backoff(first: .milliseconds(1), longest: .milliseconds(50))
        }
    }

    static func logs(_ packet: Int) -> [[UInt8]] {
        (0..<16).map { Samples.log("log \(packet) \($0)") }
    }

    @Test(
        "Nothing dies of the host's clock, and when it is right everything is delivered once",
        arguments: [8 * 86_400, -3600]
    )
    func held(seconds: Int) throws {
        try sandbox.fail(#"{"clock_offset_s":\#(seconds)}"#)
        let forwarder = try forwarder()
        for number in 1...20 { source.offer(Int64(number), logs: Self.logs(number)) }
        #expect(eventually { forwarder.status[0].awaitingClock > 0 })
        let wrong = forwarder.status[0]
        let offset = wrong.hostIsWrongBy ?? .zero
        #expect(
            offset - .seconds(seconds) > .seconds(-3) && offset - .seconds(seconds) < .seconds(3)
        )
        #expect(
            recorder.lines.wait {
                $0.contains { $0.contains("s \(seconds < 0 ? "ahead" : "behind"): set it (NTP)") }
            }
        )
        #expect(source.state.now.dead.isEmpty)
        #expect(source.state.now.isolated.count <= 2 * Evidence.halvingsMax)

        try sandbox.wellAgain()
        #expect(source.state.wait { $0.unsettled.isEmpty })
        #expect(eventually { forwarder.status[0].awaitingClock == 0 })
        #expect(forwarder.status[0].hostIsWrongBy == nil)
        forwarder.stop(within: .seconds(5))
        #expect(source.state.now.dead.isEmpty)
        let values = try sandbox.values()
        #expect(values.count == 20 * 16)
        #expect(Set(values).count == 20 * 16)
        sandbox.stop()
    }

    @Test("A log that is refused for something else dies whatever the clock says")
    func others() {
        sandbox.stop()
        let judgement = Judge.judge(JudgeTests.answer(400, "InvalidEncoding"))
        #expect(judgement.doubted(for: .seconds(86_400)) == judgement)
        let ofTime = Judge.judge(JudgeTests.answer(400, "PostBodyInvalid"))
        let doubted = ofTime.doubted(for: .seconds(-1200))
        #expect(doubted.action == .suspect && doubted.kind == .clock)
        #expect(doubted.remedy.hasPrefix("the clock of this host is 1200 s ahead: set it"))
    }

    @Test("Only an offset that is known and beyond SLS's tolerance makes the host wrong")
    func bounds() throws {
        var clock = ServerClock(Way(endpoint: try sandbox.endpoint(), proxy: nil))
        #expect(clock.hostIsWrongBy == nil)
        let cases: [(Int64, Bool)] = [(600, false), (7200, true), (-7200, true), (0, false)]
        for (seconds, isWrong) in cases {
            let (now, answer) = (ServerClockTests.host, ServerClockTests().answer(seconds))
            _ = clock.learn(from: answer, sent: now, received: now)
            #expect((clock.hostIsWrongBy != nil) == isWrong, "\(seconds)")
        }
        sandbox.stop()
    }
}
