/// Keeps the operators' decisions of the running gateway. Answers come on the queue's thread.
package protocol Decisions: Sendable {
    /// Stores the decision in the next commit. Answers with a refusal if that is not possible.
    func decide(
        _ decision: Decision,
        whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
    )

    /// Answers with all decided settings, or with the error that prevents reading them.
    func recall(_ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void)

    /// Tells of decisions of other gateways of a cluster, after which `recall` answers with them.
    /// The receiver must be quick.
    func followDecisions(_ receiver: @escaping @Sendable () -> Void)

    /// True if other gateways see the decisions, and other servers have them.
    var areDecisionsShared: Bool { get }

    /// Answers with the newest entries of the audit log, newest first. With an `id`, only entries
    /// before it.
    func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    )
}

/// Why a decision was not stored.
package enum DecisionRefusal: Equatable, Sendable {
    /// The decision would add a setting beyond `settingsMax`. A decision that only changes or
    /// removes settings never gets this.
    case tooManySettings
    /// A setting of the decision is larger than `valueBytesMax`.
    case tooLarge
    /// Too many decisions wait to be stored already.
    case busy
    /// The store cannot be written now.
    case queue(QueueAdmission)
}
