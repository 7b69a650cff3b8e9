import Queue
import System
import TestSupport
import Testing

@testable import Operations

@Suite struct AuditTrailTests {
    private final class StoredDecisions: Decisions {
        let entries = SharedValue<[AuditEntry]>([])

        func decide(
            _ decision: Decision,
            whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
        ) {
            entries.change { $0.append(decision.entry) }
            whenDurable(nil)
        }

        func recall(
            _ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void
        ) {}

        func followDecisions(_ receiver: @escaping @Sendable () -> Void) {}

        var areDecisionsShared: Bool { false }

        func audit(
            before id: Int64?,
            limit: Int,
            _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
        ) {}
    }

    @Test("Looking and logging in again and again pushes no change out of the audit log")
    func looks() throws {
        let recorded = StoredDecisions()
        let trail = AuditTrail(
            decisions: recorded,
            journal: .silent,
            counters: OperatorCounters(labels: [])
        )
        func entry(_ actor: String, _ action: String) -> AuditEntry {
            AuditEntry(actor: actor, address: "::1", action: action, subject: "console")
        }
        let start = Moment.now
        for number in 0..<12_000 {
            trail.record(entry("a", "log in"), at: start + .milliseconds(number))
        }
        #expect(recorded.entries.now.count == 20)
        // Others, and other things, have their own allowance; changes need none.
        trail.record(entry("b", "log in"), at: start)
        trail.record(entry("a", "export capture"), at: start)
        for _ in 0..<100 { trail.record(entry("a", "purge")) }
        #expect(recorded.entries.now.count == 122)
        trail.record(entry("a", "log in"), at: start + .seconds(61))
        #expect(recorded.entries.now.last?.after == "11980 more since the last entry of this kind")
    }
}
