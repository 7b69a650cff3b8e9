import Configuration
import Queue
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// Against sandboxes whose clock is not the host's. Signatures that are more than 15 minutes off
/// are refused there, as at SLS.
@Suite(.timeLimit(.minutes(10))) struct ClockDeliveryTests {
    let recorder = JournalRecorder()
    let source = MemorySource()

    func sandbox() throws -> TestSandbox {
        // Logs of any time, so that only signatures depend on the clock.
        try TestSandbox {
            $0.limits.oldestLog = .seconds(365 * 86_400)
            $0.limits.newestLog = .seconds(365 * 86_400)
        }
    }

    @Test("A host whose clock is off delivers after one refusal each", arguments: [-86_400, 3600])
    func off(seconds: Int) throws {
        let sandbox = try sandbox()
        try sandbox.fail(#"{"clock_offset_s":\#(seconds)}"#)
        let forwarder = try TestSandbox.forwarder(source, [sandbox], recorder.journal)
        for number in 1...20 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 20 })
        let status = forwarder.status[0]
        let error = status.clockOffset - .seconds(seconds)
        #expect(error > .seconds(-3) && error < .seconds(3))
        // Those that were on their way when the first refusal came.
        #expect(status.failures[.clock, default: 0] <= 8)

        // Back in step; what is refused for it is signed anew as well.
        try sandbox.wellAgain()
        for number in 21...40 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 40 })
        #expect(forwarder.status[0].clockOffset == .zero)
        forwarder.stop(sandbox)
        #expect(recorder.count(of: "the clock of this host is off") == 1)
        #expect(recorder.count(of: "the clock of this host is right again") == 1)
    }

    @Test("One look at the host's clock serves the offset and the decision to sign again")
    func oneLook() throws {
        let mayAnswer = SharedValue(false)
        let steps = Locked(0)
        let start = WallTime.now
        let server = try ScriptedServer { _, number in
            guard number == 0 else { return .stored }
            mayAnswer.wait { $0 }
            return .answer(400, code: "RequestTimeExpired")
        }
        let forwarder = try Forwarder.started(
            [try Samples.destination(port: server.port)],
            source: source,
            // A second look at the answer's time would find a time that SLS may accept.
            now: {
                guard mayAnswer.now else { return start }
                return start
                    + .seconds(
                        steps.withLock {
                            $0 += 1
                            return 50 * $0
                        }
                    )
            }
        )
        source.offer(1)
        // By then the sender has looked at its clock for what it shows of the request.
        #expect(eventually { forwarder.status[0].inFlight == 1 })
        mayAnswer.change { $0 = true }
        #expect(source.state.wait { $0.acknowledged == [1] })
        forwarder.stop(server)
        #expect(forwarder.status[0].failures[.clock] == 1)
        #expect(forwarder.status[0].resigned == 0)
    }

    @Test("A configured clock offset saves the first refusal")
    func manual() throws {
        let sandbox = try sandbox()
        try sandbox.fail(#"{"clock_offset_s":3600}"#)
        let forwarder = try TestSandbox.forwarder(source, [sandbox]) {
            $0.transfer.clockOffset = .seconds(3600)
        }
        #expect(forwarder.status[0].clockOffset == .seconds(3600))
        #expect(source.offerAndWait(1))
        #expect(forwarder.status[0].failures.isEmpty)
        forwarder.stop(sandbox)
    }

    @Test(
        "An offset that is small is learned before anything is refused, and logs keep their times"
    )
    func small() throws {
        let sandbox = try sandbox()
        try sandbox.fail(#"{"clock_offset_s":300}"#)
        let forwarder = try TestSandbox.forwarder(source, [sandbox])
        #expect(source.offerAndWait(1))
        source.offer(2)
        #expect(source.state.wait { $0.acknowledged.count == 2 })
        let status = forwarder.status[0]
        #expect(status.clockOffset > .seconds(297) && status.clockOffset < .seconds(303))
        #expect(status.failures.isEmpty)
        #expect(try sandbox.times() == ["\(TestSandbox.time.seconds)"])
        forwarder.stop(sandbox)
    }
}

/// A host whose clock is so wrong that SLS refuses the times of its logs: they wait for the clock.
@Suite(.timeLimit(.minutes(10))) struct HostClockTests {
    let source: MemorySource
    let recorder: JournalRecorder
    let sandbox: TestSandbox

    init() throws {
        source = MemorySource()
        recorder = JournalRecorder()
        sandbox = try TestSandbox()
    }

    func forwarder() throws -> Forwarder {
        try TestSandbox.forwarder(source, [sandbox], recorder.journal) {
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(50))
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
        #expect(forwarder.clockOffsets.offset(for: wrong.name) == offset)
        #expect(source.state.now.dead.isEmpty)
        let isolated = source.state.now.isolated
        #expect(isolated.count <= 2 * Evidence.halvingsMax)
        #expect(isolated.allSatisfy { $0.reason.serverTime == nil }, "nothing is late for it")

        try sandbox.wellAgain()
        #expect(source.state.wait { $0.unsettled.isEmpty })
        #expect(eventually { forwarder.status[0].awaitingClock == 0 })
        #expect(forwarder.status[0].hostIsWrongBy == nil)
        #expect(forwarder.clockOffsets.offset(for: wrong.name) == .zero)
        forwarder.stop(within: .seconds(5))
        #expect(source.state.now.dead.isEmpty)
        let values = try sandbox.values()
        #expect(values.count == 20 * 16)
        #expect(Set(values).count == 20 * 16)
        sandbox.stop()
    }

    /// One `Log` entry as `Samples` has them, of another time.
    static func log(_ text: String, _ time: WallTime) -> [UInt8] {
        var log = Samples.log(text)
        for place in 0..<5 {
            let bits = UInt8(truncatingIfNeeded: time.seconds >> (7 * Int64(place))) & 0x7F
            log[3 + place] = place < 4 ? bits | 0x80 : bits
        }
        return log
    }

    @Test("Logs with a right time of their own are delivered meanwhile")
    func others() throws {
        try sandbox.fail(#"{"clock_offset_s":-3600}"#)
        let forwarder = try forwarder()
        let right = TestSandbox.time + .seconds(-3600)
        for number in 1...12 { source.offer(Int64(number), logs: [Samples.log("wrong \(number)")]) }
        for number in 13...40 {
            let logs = (0..<8).map { Self.log("right \(number) \($0)", right) }
            source.offer(Int64(number), logs: logs)
        }
        #expect(source.state.wait { $0.acknowledged.count == 28 })
        #expect(eventually { forwarder.status[0].awaitingClock > 0 })
        #expect(source.state.now.setAside > 0, "they keep no lane")
        #expect(source.state.now.dead.isEmpty)
        try sandbox.wellAgain()
        #expect(source.state.wait { $0.unsettled.isEmpty })
        forwarder.stop(within: .seconds(5))
        let values = try sandbox.values()
        #expect(values.count == 12 + 28 * 8 && Set(values).count == values.count)
        sandbox.stop()
    }

    @Test("With a refused packet the queue gets SLS's time, by which its logs are late or not")
    func serverTime() throws {
        try sandbox.fail(#"{"clock_offset_s":600}"#)
        let forwarder = try forwarder()
        let almostOld = TestSandbox.time + .seconds(300 - 7 * 86_400)
        source.offer(1, logs: [Self.log("old for SLS", almostOld)])
        #expect(source.state.wait { $0.isolated.count == 1 })
        forwarder.stop(within: .seconds(5))
        let reason = try #require(source.state.now.isolated.first?.reason)
        #expect(reason.code == "PostBodyInvalid")
        let ahead = try #require(reason.serverTime) - TestSandbox.time
        #expect(ahead > .seconds(597) && ahead < .seconds(603))
        sandbox.stop()
    }

    @Test("A log that is refused for something else dies whatever the clock says")
    func otherReasons() {
        sandbox.stop()
        let judgement = Judge.judge(JudgeTests.answer(400, "InvalidEncoding"))
        #expect(judgement.blamingClock(.seconds(86_400)) == judgement)
        let ofTime = Judge.judge(JudgeTests.answer(400, "PostBodyInvalid"))
        let blamed = ofTime.blamingClock(.seconds(-1200))
        #expect(blamed.action == .suspect && blamed.kind == .clock)
        #expect(blamed.remedy.hasPrefix("the clock of this host is 1200 s ahead: set it"))
    }

    @Test("Only an offset that is known and beyond SLS's tolerance makes the host wrong")
    func bounds() throws {
        var clock = ServerClock(EndpointKey.server(try sandbox.endpoint(), proxy: nil))
        #expect(clock.hostIsWrong() == nil)
        // Until SLS has told, the operator's word counts.
        #expect(clock.hostIsWrong(assuming: .seconds(-7200)) == .seconds(-7200))
        #expect(clock.hostIsWrong(assuming: .seconds(600)) == nil)
        let cases: [(Int64, Bool)] = [(600, false), (7200, true), (-7200, true), (0, false)]
        for (seconds, isWrong) in cases {
            let (now, answer) = (ServerClockTests.host, ServerClockTests().answer(seconds))
            _ = clock.learn(from: answer.time, sent: now, received: now)
            #expect((clock.hostIsWrong() != nil) == isWrong, "\(seconds)")
            #expect(clock.hostIsWrong(assuming: .seconds(86_400)) == clock.hostIsWrong())
        }
        sandbox.stop()
    }
}
