import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// Packets that the queue wants back.
@Suite(.timeLimit(.minutes(1))) struct RecallTests {
    private let outlet = Outlet(destination: "app", logstore: "app-log")

    /// A destination that waits for its credential with packets that it was given before.
    private func waiting(_ source: MemorySource, _ server: ScriptedServer) throws -> Rig {
        let rig = try Rig(source, server) { $0.retryWaits = PauseTests.quick }
        for number in 1...3 as ClosedRange<Int64> { source.offer(number) }
        #expect(server.requests.wait { !$0.isEmpty })
        rig.credential.withLock { $0 = nil }
        rig.forwarder.credentialsChanged()
        #expect(
            eventually {
                if case .waitingForCredential = rig.status.state { true } else { false }
            }
        )
        return rig
    }

    @Test("A packet that came with its content is not sent when it was recalled meanwhile")
    func recent() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer(), credential: nil)
        source.recall([1], of: outlet, isSaid: false)
        source.offer(1)
        source.offer(2)
        rig.credential.withLock { $0 = Samples.credential }
        rig.forwarder.credentialsChanged()
        #expect(source.state.wait { $0.acknowledged == [2] })
        #expect(source.state.wait { $0.givenBack == [1] })
        rig.stop()
    }

    @Test("While nothing may be sent, recalled packets are given back without an attempt")
    func idle() throws {
        let source = try MemorySource()
        let server = try ScriptedServer { _, _ in .answer(401, code: "Unauthorized") }
        let rig = try waiting(source, server)
        #expect(eventually { rig.status.inFlight == 0 })
        let held = source.state.now.unsettled
        #expect(!held.isEmpty)
        let requests = server.requests.now.count
        source.recall(held, of: outlet)
        #expect(source.state.wait { Set($0.givenBack) == held })
        #expect(server.requests.now.count == requests)
        rig.stop()
    }

    @Test(
        "When all was recalled while there was no credential, the next one is asked for again",
        arguments: [
            ScriptedServer.Reply.answer(401, code: "SignatureNotMatch"),
            .answer(403, code: "ProjectForbidden"),
            .answer(503, code: "ServerBusy", retryAfter: 1),
        ]
    )
    func asksAgain(refusal: ScriptedServer.Reply) throws {
        let source = try MemorySource()
        let isWell = Locked(false)
        let server = try ScriptedServer { _, _ in isWell.withLock { $0 } ? .stored : refusal }
        let rig = try Rig(source, server) { $0.retryWaits = PauseTests.quick }
        // More than are asked for, so that nothing that was asked for is left.
        for number in 1...40 as ClosedRange<Int64> { source.offer(number) }
        #expect(eventually { if case .paused = rig.status.state { true } else { false } })
        rig.credential.withLock { $0 = nil }
        #expect(
            eventually {
                if case .waitingForCredential = rig.status.state { true } else { false }
            }
        )
        source.expire()
        #expect(source.state.wait { $0.unsettled.isEmpty })
        isWell.withLock { $0 = true }
        rig.credential.withLock { $0 = Samples.credential }
        rig.forwarder.credentialsChanged()
        #expect(
            eventually {
                if case .waitingForCredential = rig.status.state { false } else { true }
            }
        )
        source.offer(101)
        #expect(source.state.wait(.seconds(5)) { $0.acknowledged == [101] })
        rig.stop()
    }
}
