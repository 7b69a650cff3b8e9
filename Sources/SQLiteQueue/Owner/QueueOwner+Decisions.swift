import Queue
import SQLite
import System

/// What operators decided and asked, and what the transaction at hand does for them.
struct DecisionWork {
    var waiting = Fifo<DecisionRequest>()
    /// To be told once the transaction is durable.
    var settled: [@Sendable () -> Void] = []
    /// Of the transaction at hand: refused when it fails.
    var taken: [DecisionRequest] = []

    var isEmpty: Bool { waiting.isEmpty }
}

extension QueueOwner {
    func take(_ request: DecisionRequest) {
        guard decisions.waiting.count < DecisionRequest.waitingMax else {
            return request.refuse(.busy)
        }
        decisions.waiting.append(request)
    }

    /// They are small: the room that is kept for acknowledgements is enough for them on a full disk too.
    func decide(in store: OpenStore) throws(SQLiteError) {
        while let request = decisions.waiting.popFirst() {
            decisions.taken.append(request)
            let table = store.database.decisions
            switch request {
            case .change(let decision, let answer):
                let refusal = try store.decide(decision)
                decisions.settled.append { answer(refusal) }
            case .recall(let answer):
                let settings = try table.settings()
                decisions.settled.append { answer(.success(settings)) }
            case .audit(let id, let limit, let answer):
                let entries = try table.entries(before: id ?? .max, limit: max(1, min(limit, 1000)))
                decisions.settled.append { answer(.success(entries)) }
            }
        }
    }

    /// After a commit.
    func answerDecisions() {
        let answers = decisions.settled
        decisions.settled = []
        decisions.taken = []
        for answer in answers { answer() }
    }

    /// Nobody can decide anything now.
    func refuseDecisions(_ reason: QueueAdmission) {
        let taken = decisions.taken
        decisions.settled = []
        decisions.taken = []
        for request in taken { request.refuse(.queue(reason)) }
        while let request = decisions.waiting.popFirst() { request.refuse(.queue(reason)) }
    }
}

extension OpenStore {
    /// Stores a decision and its entry, or says why not.
    fileprivate func decide(_ decision: Decision) throws(SQLiteError) -> DecisionRefusal? {
        let table = database.decisions
        guard try table.hasRoom(for: decision) else { return .tooManySettings }
        try database.write()
        for name in decision.resets { try table.reset(name) }
        for (name, value) in decision.settings { try table.set(name, to: value) }
        let record = AuditRecord(id: try ids.take(database), time: now(), entry: decision.entry)
        try table.add(record)
        return nil
    }
}
