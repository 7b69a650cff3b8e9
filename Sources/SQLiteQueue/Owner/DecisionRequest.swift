import Queue

/// What somebody asks of the settings and the audit log.
enum DecisionRequest: Sendable {
    case change(Decision, @Sendable (DecisionRefusal?) -> Void)
    case recall(@Sendable (Result<[String: [UInt8]], QueueError>) -> Void)
    case audit(
        before: Int64?,
        limit: Int,
        @Sendable (Result<[AuditRecord], QueueError>) -> Void
    )

    /// Operators are few; more than so many at a time are a mistake.
    static let waitingMax = 64

    func refuse(_ reason: DecisionRefusal) {
        let problem = QueueError(.io, "the queue cannot be asked now (\(reason)); try again later.")
        switch self {
        case .change(_, let answer): answer(reason)
        case .recall(let answer): answer(.failure(problem))
        case .audit(_, _, let answer): answer(.failure(problem))
        }
    }
}
