import SLS
import System
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1))) struct WaitingAndHoldingTests {
    @Test("Without a credential nothing is taken from the queue, and a rotation wakes it")
    func missingCredential() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer(), credential: nil)
        for number in 1...3 as ClosedRange<Int64> { source.offer(number) }
        #expect(rig.recorder.lines.wait { !$0.isEmpty })
        #expect(
            rig.status.state
                == .waitingForCredential(reason: "there is no credential of the name 'default'")
        )
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

    @Test("What was refused with the old credential is sent at once with the new one")
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

    @Test(
        "A damaged packet is held with its reason, and the others go on",
        arguments: [true, false]
    )
    func damaged(isRecent: Bool) throws {
        let source = try MemorySource(isRecent: isRecent)
        let rig = try Rig(source, ScriptedServer())
        source.offer(1, damaged: true)
        source.offer(2)
        source.offer(3, logstore: "not/a/name")
        source.offer(4)
        #expect(source.state.wait { $0.acknowledged.sorted() == [2, 4] })
        #expect(rig.recorder.lines.wait { !$0.isEmpty })
        rig.stop()
        #expect(rig.status.held.packets == 2)
        #expect(rig.status.held.logs == 2 * 3 * Samples.logsPerRow)
        #expect(rig.status.held.reason?.contains("'not/a/name'") == true)
        #expect(
            rig.recorder.count(of: "packet cannot be sent and is held in the queue") == 1,
            "one line a minute"
        )
        #expect(rig.server.requests.now.count == 2)
    }

    @Test("What the queue cannot read any more is the queue's again, and the others go on")
    func voided() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer())
        for number in 1...100 as ClosedRange<Int64> { source.offer(number, lost: true) }
        source.offer(101)
        #expect(source.state.wait { $0.acknowledged == [101] })
        rig.stop()
        #expect(rig.status.held == DestinationStatus.Held())
        #expect(rig.status.voided.packets == 100)
        #expect(rig.status.voided.reason?.contains("is gone") == true)
        #expect(rig.status.leased == 0)
        #expect(rig.status.failures.isEmpty)
    }

    @Test("Damaged packets do not use up the places of others")
    func manyDamaged() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer())
        for number in 1...100 as ClosedRange<Int64> { source.offer(number, damaged: true) }
        source.offer(101)
        #expect(source.state.wait { $0.acknowledged == [101] })
        rig.stop()
        #expect(rig.status.held.packets == 100)
    }
}
