import Queue
import SQLite

/// An operator's request about settings and the audit log.
enum DecisionRequest: Sendable {
    case change(Decision, @Sendable (DecisionRefusal?) -> Void)
    case recall(@Sendable (Result<[String: [UInt8]], QueueError>) -> Void)
    case audit(
        before: Int64?,
        limit: Int,
        @Sendable (Result<[AuditRecord], QueueError>) -> Void
    )

    /// Operators are few. More requests at a time are a mistake.
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

/// Waiting decisions and questions of operators, and the work of the current transaction for them.
struct DecisionWork {
    private var waiting = Fifo<DecisionRequest>()
    /// Answers to give after the transaction is durable.
    private var answers: [@Sendable () -> Void] = []
    /// Requests of the current transaction. They are refused if it fails.
    private var taken: [DecisionRequest] = []

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ request: DecisionRequest) {
        guard waiting.count < DecisionRequest.waitingMax else { return request.refuse(.busy) }
        waiting.append(request)
    }

    /// Decisions are small: the reserve for acknowledgements has room for them even on a full disk.
    mutating func decide(in store: OpenStore) throws(SQLiteError) {
        while let request = waiting.popFirst() {
            taken.append(request)
            let table = store.database.decisions
            switch request {
            case .change(let decision, let answer):
                let refusal = try store.decide(decision)
                answers.append { answer(refusal) }
            case .recall(let answer):
                let settings = try table.settings()
                answers.append { answer(.success(settings)) }
            case .audit(let id, let limit, let answer):
                let entries = try table.entries(before: id ?? .max, limit: max(1, min(limit, 1000)))
                answers.append { answer(.success(entries)) }
            }
        }
    }

    mutating func answer() {
        let answers = answers
        self.answers = []
        taken = []
        for answer in answers { answer() }
    }

    mutating func refuse(_ reason: QueueAdmission) {
        let taken = taken
        answers = []
        self.taken = []
        for request in taken { request.refuse(.queue(reason)) }
        while let request = waiting.popFirst() { request.refuse(.queue(reason)) }
    }
}

extension OpenStore {
    /// Stores a decision and its audit entry, or returns the reason against it.
    fileprivate func decide(_ decision: Decision) throws(SQLiteError) -> DecisionRefusal? {
        let table = database.decisions
        guard try table.hasRoom(for: decision) else { return .tooManySettings }
        try database.write()
        for name in decision.resets { try table.reset(name) }
        for (name, value) in decision.settings { try table.set(name, to: value) }
        let record = AuditRecord(id: try context.takeNumber(), time: now(), entry: decision.entry)
        try table.add(record)
        return nil
    }
}
