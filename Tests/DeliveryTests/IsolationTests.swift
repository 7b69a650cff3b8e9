import Configuration
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// What SLS refuses for what is in it, or may be.
@Suite(.timeLimit(.minutes(10))) struct IsolationTests {
    private let source = MemorySource()

    /// Stores what is not poisoned, and remembers it.
    final class Judge: Sendable {
        let stored = Locked<[String]>([])
        let refuses: @Sendable (ScriptedServer.Request) -> ScriptedServer.Reply?

        init(refuses: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Reply?) {
            self.refuses = refuses
        }

        func answer(_ request: ScriptedServer.Request) -> ScriptedServer.Reply {
            if let refusal = refuses(request) { return refusal }
            stored.withLock { $0 += request.values }
            return .stored
        }
    }

    func rig(_ source: MemorySource, _ judge: Judge) throws -> Rig {
        let server = try ScriptedServer { request, _ in judge.answer(request) }
        return try Rig(source, server, compression: .none) {
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(10))
        }
    }

    static func poisoned(_ code: String) -> Judge {
        Judge { request in
            request.values.contains { $0.hasPrefix("poison") } ? .answer(400, code: code) : nil
        }
    }

    static func logs(_ packet: Int, poison: Set<Int> = []) -> [[UInt8]] {
        (0..<64).map { Samples.log("\(poison.contains($0) ? "poison" : "good") \(packet) \($0)") }
    }

    @Test("The log at fault is found, and all others are stored, each once")
    func content() throws {
        let judge = Self.poisoned("PostBodyInvalid")
        let rig = try rig(source, judge)
        source.offer(1, logs: Self.logs(1, poison: [37]))
        source.offer(2, logs: Self.logs(2, poison: [0, 31, 32, 63]))
        source.offer(3, logs: Self.logs(3))
        #expect(source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        let whole = 3 * 64 - 5
        let stored = judge.stored.withLock { $0 }
        #expect(stored.count == whole)
        #expect(Set(stored).count == whole)
        let state = source.state.now
        #expect(state.dead.count == 5)
        #expect(state.dead.allSatisfy { Samples.values(in: $0.log)[0].hasPrefix("poison") })
        let reason = state.dead[0].reason
        #expect(reason.code == "PostBodyInvalid" && reason.status == 400)
        #expect(reason.requestID == "5642FC2399248C8F7B0145FD")
        #expect(rig.status.isolated == state.isolated.count)
        #expect(rig.status.failures[.content] == state.isolated.count)
        #expect(rig.status.leased == 0)
    }

    @Test("A suspect is taken apart when its logstore stores other packets")
    func evidence() throws {
        let judge = Self.poisoned("ParameterInvalid")
        let rig = try rig(source, judge)
        source.offer(1, logs: Self.logs(1))
        #expect(source.state.wait { $0.acknowledged == [1] })
        source.offer(2, logs: Self.logs(2, poison: [5]))
        source.offer(3, logs: Self.logs(3))
        #expect(source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        #expect(source.state.now.dead.count == 1)
        let stored = judge.stored.withLock { $0 }
        #expect(Set(stored).count == 3 * 64 - 1)
        #expect(stored.count == Set(stored).count)
        #expect(rig.status.outlets[0].state == .running)
    }

    @Test("A suspect that comes first is taken apart once a part of it was stored")
    func evidenceFromItself() throws {
        let judge = Self.poisoned("ParameterInvalid")
        let rig = try rig(source, judge)
        source.offer(1, logs: Self.logs(1, poison: [5]))
        #expect(source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        #expect(source.state.now.dead.count == 1)
        #expect(Set(judge.stored.withLock { $0 }).count == 63)
    }

    @Test("A wrong setting does not turn the queue into dead letters")
    func wrongSetting() throws {
        let isRight = Locked(false)
        let judge = Judge { _ in
            isRight.withLock { $0 } ? nil : .answer(400, code: "InvalidCompressType")
        }
        let rig = try rig(source, judge)
        for number in 1...40 { source.offer(Int64(number), logs: Self.logs(number)) }
        #expect(rig.server.requests.wait { $0.count >= 200 })
        guard case .paused(let reason, _) = rig.status.outlets[0].state else {
            Issue.record("a logstore that stores nothing is paused")
            return rig.stop()
        }
        #expect(reason.contains("InvalidCompressType"))
        let state = source.state.now
        #expect(state.dead.isEmpty)
        #expect(state.isolated.count <= Evidence.halvingsMax)
        #expect(rig.status.leased <= PacketLine.asideMax + 2, "it stays in the queue")
        isRight.withLock { $0 = true }
        #expect(source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        let stored = judge.stored.withLock { $0 }
        #expect(stored.count == 40 * 64)
        #expect(Set(stored).count == 40 * 64)
        #expect(source.state.now.dead.isEmpty)
    }

    @Test("A proxy that alters every body does not turn the backlog into dead letters")
    func everythingRefused() throws {
        let isBroken = Locked(true)
        let judge = Judge { _ in
            isBroken.withLock { $0 } ? .answer(400, code: "PostBodyInvalid") : nil
        }
        let rig = try rig(source, judge)
        for number in 1...40 { source.offer(Int64(number), logs: Self.logs(number)) }
        // Probes go every few milliseconds here, and up to a minute apart in life.
        #expect(rig.server.requests.wait { $0.count >= 400 })
        guard case .paused(let reason, _) = rig.status.outlets[0].state else {
            Issue.record("a logstore of which everything is refused is paused")
            return rig.stop()
        }
        #expect(reason.contains("PostBodyInvalid") && reason.contains("a proxy"), "\(reason)")
        #expect(source.state.now.dead.count <= Evidence.loneRefusalsMax)
        #expect(rig.status.pauses[.failure(.content)] ?? 0 >= 1)
        #expect(rig.status.leased <= PacketLine.asideMax + 2, "it stays in the queue")
        isBroken.withLock { $0 = false }
        #expect(source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        let stored = judge.stored.withLock { $0 }
        let dead = source.state.now.dead.count
        #expect(dead <= Evidence.loneRefusalsMax)
        #expect(stored.count == 40 * 64 - dead && Set(stored).count == stored.count)
        #expect(rig.status.outlets[0].state == .running && rig.status.leased == 0)
    }

    @Test("Replayed dead letters that are refused again die again, and pause nothing")
    func replayed() throws {
        let judge = Self.poisoned("PostBodyInvalid")
        let server = try ScriptedServer { request, _ in judge.answer(request) }
        // The first wait of a pause is ten minutes.
        let rig = try Rig(server, compression: .none) { $0.transfer.retry = PauseTests.patient }
        for number in 1...3 {
            let logs = Self.logs(number, poison: Set(0..<64))
            rig.source.offer(Int64(number), logs: logs, isReplayed: true)
        }
        #expect(rig.source.state.wait { $0.dead.count == 3 * 64 && $0.unsettled.isEmpty })
        #expect(rig.status.outlets[0].state == .running)
        rig.source.offer(4, logs: Self.logs(4))
        #expect(rig.source.state.wait { $0.acknowledged == [4] })
        rig.stop()
        #expect(rig.status.pauses.isEmpty)
    }

    @Test("Bad logs that are many are found among good ones, and no pause keeps them")
    func dense() throws {
        let judge = Self.poisoned("InvalidEncoding")
        let rig = try rig(source, judge)
        let poison = Set((0..<64).filter { $0 % 3 != 1 })
        for number in 1...20 {
            source.offer(Int64(number), logs: Self.logs(number, poison: poison))
        }
        #expect(source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        #expect(source.state.now.dead.count == 20 * poison.count)
        #expect(Set(judge.stored.withLock { $0 }).count == 20 * (64 - poison.count))
    }

    @Test("sluice resume takes the next refused logs apart")
    func resumed() throws {
        let server = try ScriptedServer { _, _ in .answer(400, code: "PostBodyInvalid") }
        // The first wait is ten minutes.
        let rig = try Rig(server, compression: .none) { $0.transfer.retry = PauseTests.patient }
        rig.source.offer(1, logs: Self.logs(1))
        func isPaused() -> Bool {
            if case .paused = rig.status.outlets.first?.state { true } else { false }
        }
        #expect(eventually(isPaused))
        let dead = rig.source.state.now.dead.count
        #expect(dead == Evidence.loneRefusalsMax)
        rig.forwarder.tryAgain(["app"])
        #expect(rig.source.state.wait { $0.dead.count >= 2 * dead })
        #expect(eventually(isPaused))
        #expect(rig.source.state.now.dead.count == 2 * dead)
        rig.stop()
    }

    @Test("A lone suspect waits for evidence, and dies when another packet was stored")
    func lone() throws {
        let judge = Self.poisoned("MissingParameter")
        let rig = try rig(source, judge)
        source.offer(1, logs: [Samples.log("poison 1")])
        #expect(rig.server.requests.wait { $0.count >= 20 })
        #expect(source.state.now.isolated.isEmpty && source.state.now.setAside > 0)
        source.offer(2, logs: [Samples.log("good 2")])
        #expect(source.state.wait { $0.acknowledged == [2] && $0.dead.count == 1 })
        rig.stop()
        #expect(rig.status.leased == 0)
    }

    @Test("However many lone suspects come first, the packets behind them are found")
    func manyLone() throws {
        let judge = Self.poisoned("MissingParameter")
        let rig = try rig(source, judge)
        let count = Int64(3 * PacketLine.asideMax)
        for number in 1...count { source.offer(number, logs: [Samples.log("poison \(number)")]) }
        source.offer(count + 1, logs: [Samples.log("good")])
        #expect(source.state.wait { $0.acknowledged == [count + 1] })
        #expect(source.state.now.postponed > 0)
        // Each that is stored lets some be judged.
        for number in (count + 2)... {
            let dead = source.state.now.dead.count
            guard dead < count else { break }
            source.offer(number, logs: [Samples.log("good")])
            #expect(source.state.wait { $0.acknowledged.contains(number) && $0.dead.count > dead })
        }
        rig.stop()
        #expect(source.state.now.unsettled.isEmpty && rig.status.leased == 0)
    }
}

@Suite struct EvidenceTests {
    let now = Moment(nanoseconds: 1_000_000_000_000)
    let lease = PacketLineTests.lease(1)

    @Test("Without a stored packet no packet is convicted")
    func none() {
        #expect(!Evidence().isPacketAtFault(lease, now))
    }

    @Test(
        "A packet stored lately proves others at fault, until too much time or too many suspects have passed"
    )
    func lately() {
        var evidence = Evidence()
        evidence.stored(now)
        #expect(evidence.isPacketAtFault(lease, now + .seconds(1)))
        #expect(!evidence.isPacketAtFault(lease, now + Evidence.lasts))
        for _ in 0...Evidence.suspectsMax { evidence.suspected() }
        #expect(!evidence.isPacketAtFault(lease, now + .seconds(1)))
    }

    @Test(
        "A packet stored after the first failure proves the fault, however many suspects there are"
    )
    func since() {
        var evidence = Evidence()
        var lease = lease
        lease.firstFailure = now
        evidence.stored(now + .seconds(1))
        for _ in 0..<100 { evidence.suspected() }
        #expect(evidence.isPacketAtFault(lease, now + .seconds(1000)))
        lease.firstFailure = now + .seconds(2)
        #expect(!evidence.isPacketAtFault(lease, now + .seconds(3)))
    }

    @Test("Other settings need other evidence")
    func forgotten() {
        var evidence = Evidence()
        evidence.stored(now)
        evidence.forget()
        #expect(!evidence.isPacketAtFault(lease, now))
    }

    @Test("After so many lone logs refused in a row content is doubted, until one is stored")
    func everything() {
        var evidence = Evidence()
        for _ in 0..<1000 {
            let isDoubted = evidence.refused(isAlone: false)
            #expect(!isDoubted, "each of these may have a bad log")
            let isReplayDoubted = evidence.refused(isAlone: true, isReplayed: true)
            #expect(!isReplayDoubted, "it was refused before")
        }
        for _ in 0..<Evidence.loneRefusalsMax {
            let isDoubted = evidence.refused(isAlone: true)
            #expect(!isDoubted)
        }
        let (isAloneDoubted, isWholeDoubted) =
            (evidence.refused(isAlone: true), evidence.refused(isAlone: false))
        #expect(isAloneDoubted && isWholeDoubted)
        evidence.stored(now)
        let isStillDoubted = evidence.refused(isAlone: true)
        #expect(!isStillDoubted)
    }

    @Test("So many packets are halved without evidence, and again after a stored one")
    func halvings() {
        var evidence = Evidence()
        var halvings = 0
        while evidence.spendHalving() { halvings += 1 }
        #expect(halvings == Evidence.halvingsMax)
        evidence.stored(now)
        let mayHalveAgain = evidence.spendHalving()
        #expect(mayHalveAgain)
    }
}
