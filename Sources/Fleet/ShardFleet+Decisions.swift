package import Queue

extension ShardFleet: Decisions {
    package func decide(
        _ decision: Decision,
        whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
    ) {
        control.decide(decision, whenDurable)
    }

    package func recall(
        _ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void
    ) {
        answer(.success(control.settings))
    }

    package func followDecisions(_ receiver: @escaping @Sendable () -> Void) {
        control.follow(receiver)
    }

    package var areDecisionsShared: Bool { true }

    package func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    ) {
        answer(.success(control.entries(before: id, limit: limit)))
    }
}
