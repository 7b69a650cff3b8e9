import CommitLog
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet

/// Decisions of operators, which all gateways of a cluster share.
@Suite(.timeLimit(.minutes(10))) final class ControlLogTests {
    private let cluster = MemoryCluster()
    private let recorder = JournalRecorder()
    private var logs: [ControlLog] = []

    deinit { for log in logs { log.stop() } }

    private func control(_ node: String, on view: MemoryCluster? = nil) throws -> ControlLog {
        let view = view ?? cluster.view()
        try view.open()
        let log = try ControlLog(
            view.control,
            node: node,
            patience: .milliseconds(500),
            recorder.journal
        )
        try log.open()
        logs.append(log)
        return log
    }

    private func decision(
        _ settings: [String: [UInt8]],
        resets: Set<String> = [],
        by actor: String = "admin"
    ) -> Decision {
        Decision(
            settings,
            resets: resets,
            AuditEntry(actor: actor, address: "::1", action: "set", subject: "x")
        )
    }

    private func decide(_ decision: Decision, _ log: ControlLog) -> DecisionRefusal? {
        let answer = Awaited<DecisionRefusal?>()
        log.decide(decision) { answer.put($0) }
        return answer.take(1)[0]
    }

    @Test("What is decided at one gateway counts at all, in one order, and after a restart")
    func shared() throws {
        let (one, two) = (try control("a"), try control("b"))
        let told = SharedValue<[String: [UInt8]]>([:])
        two.followDecisions {
            let now = two.settings; told.change { $0 = now }
        }
        #expect(decide(decision(["held/app": [1], "destination/web": [0, 255]]), one) == nil)
        #expect(told.wait { $0 == ["held/app": [1], "destination/web": [0, 255]] })
        #expect(decide(decision(["held/web": [2]], resets: ["held/app"], by: "second"), two) == nil)
        let all: [String: [UInt8]] = ["held/web": [2], "destination/web": [0, 255]]
        #expect(eventually { one.settings == all } && two.settings == all)
        let third = try control("c")
        #expect(third.settings == all)
        #expect(third.entries(before: nil, limit: 10).map(\.entry.actor) == ["second", "admin"])
        let last = try #require(third.entries(before: nil, limit: 1).first)
        #expect(third.entries(before: last.id, limit: 10).map(\.entry.actor) == ["admin"])
        #expect(third.entries(before: nil, limit: 10) == one.entries(before: nil, limit: 10))
    }

    @Test("Of decisions at the same moment none is lost, and all gateways agree")
    func rivals() throws {
        let gateways = try ["a", "b", "c"].map { try control($0) }
        let answers = Awaited<DecisionRefusal?>()
        for number in 0..<20 {
            for (index, gateway) in gateways.enumerated() {
                gateway.decide(
                    decision(["\(index)/\(number)": [UInt8(number)], "last": [UInt8(index)]])
                ) {
                    answers.put($0)
                }
            }
        }
        #expect(answers.take(60).allSatisfy { $0 == nil })
        #expect(eventually { gateways.allSatisfy { $0.settings == gateways[0].settings } })
        #expect(gateways[0].settings.count == 61)
        #expect(gateways[2].entries(before: nil, limit: 100).count == 60)
    }

    @Test("A decision whose answer was lost is made once, and one that got lost is repeated")
    func lostAnswers() throws {
        let one = try control("a")
        let memory = try #require(cluster.memory(of: "control"))
        memory.plan([.unanswered])
        #expect(decide(decision(["x": [1]]), one) == nil)
        memory.plan([.lost, .unreachable])
        #expect(decide(decision(["y": [2]]), one) == nil)
        #expect(memory.entries.count == 2)
        #expect(one.settings == ["x": [1], "y": [2]])
        #expect(one.entries(before: nil, limit: 10).count == 2)
    }

    @Test("A decision is refused with the reason, and nothing of it remains")
    func refusals() throws {
        let view = cluster.view()
        let one = try control("a", on: view)
        let memory = try #require(cluster.memory(of: "control"))
        memory.plan([.noRoom])
        #expect(decide(decision(["x": [1]]), one) == .queue(.diskFull))
        #expect(decide(decision(["x": Array(repeating: 1, count: 65 << 10)]), one) == .tooLarge)
        view.isReachable = false
        #expect(decide(decision(["x": [1]]), one) == .queue(.failing))
        view.isReachable = true
        #expect(one.settings.isEmpty)
        for number in 0..<10 {
            let many = (0..<100).map { ("\(number)/\($0)", [UInt8(1)]) }
            #expect(decide(decision(Dictionary(uniqueKeysWithValues: many)), one) == nil)
        }
        #expect(decide(decision(["one more": [1]]), one) == .tooManySettings)
        #expect(decide(decision(["0/1": [2]]), one) == nil)
        #expect(decide(decision(["one more": [1]], resets: ["0/2"]), one) == nil)
    }

    @Test("What was read before a failed read is told all the same")
    func failedRead() throws {
        let view = cluster.view()
        let (one, two) = (try control("a", on: view), try control("b"))
        let told = SharedValue<[String: [UInt8]]>([:])
        one.followDecisions {
            let now = one.settings; told.change { $0 = now }
        }
        let memory = try #require(cluster.memory(of: "control"))
        memory.failReadsAtEnd(true)
        #expect(decide(decision(["x": [1]]), two) == nil)
        #expect(told.wait { $0 == ["x": [1]] })
        memory.failReadsAtEnd(false)
    }

    @Test("A gateway that was cut off takes over what was decided meanwhile")
    func cutOff() throws {
        let view = cluster.view()
        let (one, two) = (try control("a", on: view), try control("b"))
        view.isReachable = false
        #expect(decide(decision(["x": [1]]), two) == nil)
        #expect(eventually { recorder.text.contains("decisions of the cluster cannot be read") })
        view.isReachable = true
        #expect(eventually { one.settings == ["x": [1]] })
        #expect(eventually { recorder.text.contains("decisions of the cluster can be read again") })
    }

    @Test("A damaged entry, and a hole, cost no other decision, and are reported")
    func damage() throws {
        let one = try control("a")
        for number in 1...5 { #expect(decide(decision(["\(number)": [1]]), one) == nil) }
        let memory = try #require(cluster.memory(of: "control"))
        memory.damage { entries in
            entries[1] = NumberedEntry(number: 2, bytes: [1, 2, 3])
            entries.remove(at: 3)
        }
        let two = try control("b")
        #expect(Set(two.settings.keys) == ["1", "3", "5"])
        #expect(recorder.text.contains("a decision in the control log cannot be read"))
        #expect(recorder.text.contains("decisions are missing in the control log"))
        #expect(decide(decision(["6": [1]]), two) == nil)
    }

    @Test("Entries of those who only looked push no change out of a state")
    func trimmedLooks() {
        var state = ControlState()
        func take(_ number: UInt64, _ action: String) {
            let entry = AuditEntry(actor: "a", address: "b", action: action, subject: "c")
            let control = ControlEntry(Decision([:], entry), time: .now, node: "a")
            _ = state.take(control, number, bytes: 100)
        }
        take(1, "pause")
        for number in 2...UInt64(3 * ControlState.auditMax) { take(number, "log in") }
        #expect(state.audit.first?.entry.action == "pause")
        #expect(state.audit.count < ControlState.auditMax + 1000)
        #expect(state.audit.last?.id == Int64(3 * ControlState.auditMax))
    }

    @Test("A state keeps settings however old, and as many audit entries as it may")
    func trimming() {
        var state = ControlState()
        func take(_ number: UInt64, _ settings: [String: [UInt8]]) {
            let entry = ControlEntry(decision(settings), time: .now, node: "a")
            _ = state.take(entry, number, bytes: 100)
        }
        take(1, ["old": [1]])
        take(2, ["kept": [1]])
        let end = UInt64(2 * ControlState.auditMax + 1)
        for number in 3...end { take(number, ["new": [2]]) }
        #expect(state.audit.count < ControlState.auditMax + 1000)
        let cut = state.cut
        #expect(cut == end - UInt64(ControlState.auditMax))
        #expect(Set(state.old(before: cut ?? 0).map(\.name)) == ["old", "kept"])
        _ = state.take(
            ControlEntry(keeping: "old", [1], time: .now, node: "a"),
            end + 1,
            bytes: 100
        )
        #expect(state.old(before: cut ?? 0).map(\.name) == ["kept"])
        state.trimmed(before: cut ?? 0)
        #expect(state.cut == nil && state.settings.count == 3)
    }

    @Test("Large decisions leave before the engine has no room for others")
    func largeDecisions() {
        var state = ControlState()
        let entry = ControlEntry(decision(["a": [1]]), time: .now, node: "a")
        var number: UInt64 = 100
        for _ in 0..<128 {
            _ = state.take(entry, number, bytes: 1 << 20)
            #expect(state.cut == nil)
            number += 1
        }
        // One that cannot be read, behind some that are missing.
        state.skip(number + 3, bytes: 1 << 20)
        #expect(state.cut.map(Int.init) == 100 + 65)
        state.trimmed(before: 165)
        state.trimmed(before: 150)
        #expect(state.cut == nil)
        for more in 1...64 { _ = state.take(entry, number + 3 + UInt64(more), bytes: 1 << 20) }
        #expect(state.cut == nil)
        _ = state.take(entry, number + 3 + 65, bytes: 1 << 20)
        #expect(state.cut != nil)
    }

    @Test("A decision reads as it was written")
    func entries() throws {
        var entry = ControlEntry(
            decision(["a": [0, 1, 255], "b": []], resets: ["c", "d"]),
            time: WallTime(nanoseconds: 1_700_000_000_123_000_000),
            node: "gw"
        )
        #expect(try ControlEntry(body: entry.body) == entry)
        entry.audit = nil
        #expect(try ControlEntry(body: entry.body) == entry)
        #expect(throws: CommitLogError.self) {
            try ControlEntry(body: Array(#"{"node":"a"}"#.utf8))
        }
    }
}
