/// Keeps what operators decide while the gateway runs. Answers come on the queue's thread.
package protocol Decisions: Sendable {
    /// Stores it, in the next commit; tells why where that is not possible.
    func decide(
        _ decision: Decision,
        whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
    )

    /// All settings that were decided, or why they cannot be read.
    func recall(_ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void)

    /// The newest entries of the audit log, those before `id` where it is given, newest first.
    func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    )
}

extension DurableQueue: Decisions {
    package func decide(
        _ decision: Decision,
        whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
    ) {
        guard decision.isReasonable else { return whenDurable(.tooLarge) }
        door.post(.decision(.change(decision, whenDurable)))
    }

    package func recall(
        _ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void
    ) {
        door.post(.decision(.recall(answer)))
    }

    package func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    ) {
        door.post(.decision(.audit(before: id, limit: limit, answer)))
    }
}
