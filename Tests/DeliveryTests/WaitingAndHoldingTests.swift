import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1))) struct WaitingAndHoldingTests {
    @Test("Without a credential nothing is taken from the queue, and a rotation wakes it")
    func missingCredential() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer(), credential: nil)
        for number in 1...3 as ClosedRange<Int64> { source.offer(number) }
        #expect(rig.recorder.lines.wait { !$0.isEmpty })
        // The status follows the line at the end of the same turn.
        let reason = "there is no credential of the name 'default'"
        #expect(eventually { rig.status.state == .waitingForCredential(reason: reason) })
        #expect(source.state.now.handedOver == 0)
        rig.credential.withLock { $0 = Samples.credential }
        rig.forwarder.credentialsChanged()
        #expect(source.state.wait { $0.acknowledged.count == 3 })
        #expect(rig.status.state == .running)
        rig.stop()
        #expect(rig.recorder.count(of: "destination waits for its credential") == 1)
        #expect(rig.recorder.count(of: "destination has its credential") == 1)
    }

    @Test("A credential that comes by itself is found by looking again")
    func looksAgain() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer(), credential: nil)
        source.offer(1)
        #expect(rig.recorder.lines.wait { !$0.isEmpty })
        rig.credential.withLock { $0 = Samples.credential }
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
    }

    @Test("Packets refused with the old credential are sent at once with the new one")
    func rotation() throws {
        let source = try MemorySource()
        let isRotated = Locked(false)
        let server = try ScriptedServer { _, _ in
            isRotated.withLock { $0 } ? .stored : .answer(401, code: "Unauthorized")
        }
        let rig = try Rig(source, server)
        source.offer(1)
        #expect(rig.server.requests.wait { $0.count >= 3 })
        isRotated.withLock { $0 = true }
        rig.forwarder.credentialsChanged()
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
    }

    @Test("Secret and token show nowhere, whatever a server echoes")
    func secrets() throws {
        let source = try MemorySource()
        let server = try ScriptedServer { request, number in
            let echo = "\(request.head) \(Samples.secret) \(Samples.token)"
            return number == 0 ? .answer(401, code: "Unauthorized", message: echo) : .stored
        }
        let rig = try Rig(source, server)
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        let shown = rig.recorder.lines.now.joined() + "\(rig.status)"
        #expect(shown.contains("Unauthorized"))
        #expect(!shown.contains(Samples.secret))
        #expect(!shown.contains(Samples.token))
    }

    @Test("A packet that cannot be sent as it is goes back to be taken apart, and the others go on")
    func unsendable() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer())
        source.offer(1, logstore: "not/a/name", rows: 1)
        source.offer(2)
        #expect(source.state.wait { $0.acknowledged == [2] && $0.dead.count == Samples.logsPerRow })
        rig.stop()
        let state = source.state.now
        #expect(state.isolated.allSatisfy { $0.reason.code == "PacketUnsendable" })
        #expect(state.dead.allSatisfy { $0.reason.message.contains("'not/a/name'") })
        #expect(rig.status.isolated == state.isolated.count)
        #expect(rig.status.leased == 0)
        #expect(rig.server.requests.now.count == 1)
    }

    @Test(
        "A packet damaged in memory is read from disk, and is given back when it is damaged there"
    )
    func damaged() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer())
        source.offer(1, damaged: true)
        source.offer(2)
        #expect(source.state.wait { $0.acknowledged == [2] && $0.isolated.count == 1 })
        rig.stop()
        #expect(source.state.now.reads == 1)
        #expect(source.state.now.isolated.first?.reason.message.contains("damaged") == true)
        #expect(rig.status.leased == 0)
    }

    @Test("A disk that does not answer is asked again later, and only about its packets")
    func unreadable() throws {
        let source = try MemorySource(isRecent: false)
        source.state.change { $0.failingReads = 3 }
        let rig = try Rig(source, ScriptedServer())
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.status.failures == [.queue: 3])
        #expect(rig.status.lastFailure?.result == .persistentError)
        #expect(rig.status.leased == 0)
    }

    @Test("A packet that the queue cannot read goes back to the queue, and the others go on")
    func voided() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer())
        for number in 1...100 as ClosedRange<Int64> { source.offer(number, lost: true) }
        source.offer(101)
        #expect(source.state.wait { $0.acknowledged == [101] })
        rig.stop()
        #expect(rig.status.isolated == 0)
        #expect(rig.status.voided == 100)
        #expect(rig.status.leased == 0)
        #expect(rig.status.failures.isEmpty)
    }
}
