import Queue
import System
import TestSupport
import Testing

@testable import Delivery

/// A packet that may be stored under its number must not come under others, for a suspicion.
@Suite(.timeLimit(.minutes(1))) struct LaneSuspicionTests {
    @Test(
        "A packet in a lane that may be stored is not halved for a setting that may be wrong",
        arguments: [true, false]
    )
    func whole(isRecovered: Bool) throws {
        let source = try MemorySource()
        let isRight = Locked(false)
        let server = try ScriptedServer { _, number in
            if !isRecovered, number == 0 { return .hangUp }
            if isRight.withLock({ $0 }) { return .answer(400, code: "InvalidSequenceId") }
            return .answer(400, code: "InvalidCompressType")
        }
        let rig = try Rig(source, server) {
            $0.retryWaits = Backoff(first: .milliseconds(1), longest: .milliseconds(10))
        }
        source.offer(1, lane: LaneDeliveryTests.lane, isRecovered: isRecovered)
        #expect(server.requests.wait { $0.count >= 20 })
        #expect(source.state.now.isolated.isEmpty)
        #expect(source.state.now.setAside > 0)
        isRight.withLock { $0 = true }
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.status.storedBefore == 1)
        #expect(source.state.now.relaned.isEmpty)
    }
}
