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

/// Why a decision was not stored.
package enum DecisionRefusal: Equatable, Sendable {
    /// It adds a setting to as many as are kept. What changes one, or takes one away, is never refused for this.
    case tooManySettings
    /// One of its settings is larger than a setting may be.
    case tooLarge
    /// Too many wait to be stored already.
    case busy
    /// Nothing can be written now.
    case queue(QueueAdmission)
}
