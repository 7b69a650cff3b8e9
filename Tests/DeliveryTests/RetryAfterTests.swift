import Net
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// SLS asks to be left alone for a while, and is.
@Suite(.timeLimit(.minutes(1))) struct RetryAfterTests {
    let tests = SandboxDeliveryTests()

    func fault(_ sandbox: SandboxServer, _ json: String) throws {
        let answer = try ControlClient(port: Int(sandbox.address.port)).send(
            "POST",
            "/faults",
            json
        )
        #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
    }

    @Test(
        "Nothing goes there before the time is over",
        arguments: [
            (#"{"code":"ServerBusy","retry_after_s":1,"count":1}"#, DeliveryFailure.Kind.server),
            (#"{"code":"WriteQuotaExceed","retry_after_s":1,"count":1}"#, .quota),
            (#"{"code":"ShardWriteQuotaExceed","retry_after_s":1,"count":1}"#, .quota),
        ]
    )
    func honoured(json: String, kind: DeliveryFailure.Kind) throws {
        let sandbox = try tests.sandbox()
        try fault(sandbox, json)
        let source = try MemorySource()
        source.offer(1)
        let started = Moment.now
        let forwarder = try tests.forwarder(source, sandbox)
        #expect(source.state.wait { $0.acknowledged == [1] })
        let elapsed = Moment.now - started
        #expect(elapsed >= .seconds(1))
        #expect(elapsed < .seconds(5).calibrated())
        forwarder.stop(within: .seconds(5))
        #expect(forwarder.status[0].failures == [kind: 1])
        sandbox.stop()
    }

    @Test("Retry-After of one logstore does not stop another one")
    func oneLogstore() throws {
        let sandbox = try tests.sandbox()
        let json =
            #"{"code":"ShardWriteQuotaExceed","retry_after_s":2,"logstore":"busy","count":1}"#
        try fault(sandbox, json)
        let source = try MemorySource()
        source.offer(1, logstore: "busy")
        let forwarder = try tests.forwarder(source, sandbox)
        let started = Moment.now
        for number in 2...20 as ClosedRange<Int64> { source.offer(number, logstore: "idle") }
        #expect(source.state.wait { $0.acknowledged.count == 19 })
        #expect(Moment.now - started < .seconds(2).calibrated())
        #expect(!source.state.now.acknowledged.contains(1))
        #expect(source.state.wait { $0.acknowledged.contains(1) })
        forwarder.stop(within: .seconds(5))
        sandbox.stop()
    }
}
