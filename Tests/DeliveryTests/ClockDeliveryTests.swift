import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// Against sandboxes whose clock is not the host's. Signatures that are more than 15 minutes off
/// are refused there, as at SLS.
@Suite(.timeLimit(.minutes(1))) struct ClockDeliveryTests {
    let recorder: JournalRecorder
    let source: MemorySource

    init() throws {
        recorder = JournalRecorder()
        source = try MemorySource()
    }

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
        forwarder.stop(within: .seconds(5))
        sandbox.stop()
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
        let forwarder = try Forwarder(
            [try Samples.destination(port: server.port)],
            source: source,
            credentials: { _ in Samples.credential },
            journal: .silent,
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
        try forwarder.start()
        source.offer(1)
        // By then the sender has looked at its clock for what it shows of the request.
        #expect(eventually { forwarder.status[0].inFlight == 1 })
        mayAnswer.change { $0 = true }
        #expect(source.state.wait { $0.acknowledged == [1] })
        forwarder.stop(within: .seconds(5))
        server.stop()
        #expect(forwarder.status[0].failures[.clock] == 1)
        #expect(forwarder.status[0].resigned == 0)
    }

    @Test("A configured clock offset saves the first refusal")
    func manual() throws {
        let sandbox = try sandbox()
        try sandbox.fail(#"{"clock_offset_s":3600}"#)
        let forwarder = try TestSandbox.forwarder(source, [sandbox]) {
            $0.clockOffset = .seconds(3600)
        }
        #expect(forwarder.status[0].clockOffset == .seconds(3600))
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        #expect(forwarder.status[0].failures.isEmpty)
        forwarder.stop(within: .seconds(5))
        sandbox.stop()
    }

    @Test(
        "An offset that is small is learned before anything is refused, and logs keep their times"
    )
    func small() throws {
        let sandbox = try sandbox()
        try sandbox.fail(#"{"clock_offset_s":300}"#)
        let forwarder = try TestSandbox.forwarder(source, [sandbox])
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        source.offer(2)
        #expect(source.state.wait { $0.acknowledged.count == 2 })
        let status = forwarder.status[0]
        #expect(status.clockOffset > .seconds(297) && status.clockOffset < .seconds(303))
        #expect(status.failures.isEmpty)
        #expect(try sandbox.times() == ["\(TestSandbox.time.seconds)"])
        forwarder.stop(within: .seconds(5))
        sandbox.stop()
    }
}
