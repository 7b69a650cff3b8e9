import Queue
import SQLite
import System

enum LetterRequest: Sendable {
    case change(LetterJob)
    case edit(Int64, DeadLetterEdit, @Sendable (DeadLetterEditOutcome) -> Void)

    /// Answers that nothing more will be done. `reason` is nil if too many requests wait.
    func refuse(_ reason: QueueAdmission?) {
        switch self {
        case .change(var job):
            job.result.end = reason.map { .refused($0) } ?? .busy
            job.answer(job.result)
        case .edit(_, _, let answer): answer(reason.map { .refused($0) } ?? .busy)
        }
    }
}

/// A replay or a purge, which runs in steps.
struct LetterJob: Sendable {
    let work: DeadLetterWork
    /// Ids are distinct.
    var selection: DeadLetterSelection
    let answer: @Sendable (DeadLetterChange) -> Void
    /// The next step begins behind this letter, or behind this index of the ids.
    var position: Int64 = 0
    /// Letters that died after the job began are not part of it: a replayed log may die again at
    /// once.
    var last: Int64?
    var result = DeadLetterChange()

    mutating func add(_ step: LetterStep, position: Int64) {
        self.position = position
        result.changed += step.changed
        result.unreadable += step.unreadable
        result.effects.merge(step.effects) { $0 + $1 }
        if let refusal = step.refusal { result.end = .refused(refusal) }
    }
}

/// Waiting changes of dead letters, and the work of the current transaction for the first one.
struct LetterWork {
    /// Each request may name thousands of ids.
    private static let requestsMax = 64
    private static let lettersOfStep = 1000
    private static let bytesOfStep = 4 << 20

    private let journal: Journal
    private var waiting = Fifo<LetterRequest>()
    /// A job that has begun and takes more than one step.
    private var current: LetterJob?
    /// The state to take over when the transaction is durable.
    private var settled: Settled?

    private enum Settled {
        case job(LetterJob, isDone: Bool)
        case edit(DeadLetterEditOutcome, @Sendable (DeadLetterEditOutcome) -> Void)
    }

    init(_ journal: Journal) {
        self.journal = journal
    }

    var isEmpty: Bool { waiting.isEmpty && current == nil }

    mutating func add(_ request: LetterRequest) {
        guard waiting.count < Self.requestsMax else { return request.refuse(nil) }
        waiting.append(request)
    }

    /// Runs one step of the current or the next change. A replay adds at most `room`.
    mutating func takeStep(in store: OpenStore, room: Int) throws(SQLiteError) {
        settled = nil
        if current == nil, let request = waiting.popFirst() {
            switch request {
            case .change(var job):
                job.last = store.context.lastNumber
                current = job
            case .edit(let id, let edit, let answer):
                // If this transaction fails, the edit is refused, and the operator may ask again.
                settled = .edit(.refused(.failing), answer)
                settled = .edit(try store.letters.replace(id, with: edit), answer)
            }
        }
        guard var job = current else { return }
        let (portion, position, isLast) = try portion(of: job, in: store)
        let fits = portion.reduce(0) { $0 + $1.cost } <= room
        var step = LetterStep()
        if !fits, job.work == .replay {
            step.refusal = .diskFull
        } else {
            step =
                switch job.work {
                case .replay: try store.intake.replay(portion)
                case .purge: try store.letters.purge(portion)
                }
        }
        job.add(step, position: position)
        settled = .job(job, isDone: isLast || step.refusal != nil)
    }

    /// The letters of the next step, the beginning of the step after it, and if it is the last.
    private func portion(
        of job: LetterJob,
        in store: OpenStore
    ) throws(SQLiteError) -> ([StoredLetter], Int64, isLast: Bool) {
        var portion = DeadQueries.Portion(letters: Self.lettersOfStep, bytes: Self.bytesOfStep)
        let queries = store.database.dead.queries
        switch job.selection {
        case .ids(let ids):
            var position = Int(job.position)
            let end = min(position + Self.lettersOfStep, ids.count)
            while position < end, !portion.isFull {
                if let letter = try queries.letter(ids[position]) { _ = portion.take(letter) }
                position += 1
            }
            return (portion.letters, Int64(position), position == ids.count)
        case .matching(let filter):
            let end = try queries.letters(
                matching: filter,
                after: job.position,
                through: job.last ?? 0
            ) { portion.take($0) }
            return (portion.letters, end.position, end.isLast)
        }
    }

    /// Called after a commit. Answers the request if all of it is done.
    mutating func answer() {
        guard let settled else { return }
        self.settled = nil
        switch settled {
        case .edit(let outcome, let answer): answer(outcome)
        case .job(let job, isDone: false): current = job
        case .job(let job, isDone: true):
            current = nil
            if job.result.changed > 0 {
                let event =
                    job.work == .replay ? "dead letters replayed" : "dead letters purged"
                journal.info(event, ["letters": job.result.changed])
            }
            job.answer(job.result)
        }
    }

    mutating func refuse(_ reason: QueueAdmission) {
        if case .edit(_, let answer)? = settled { answer(.refused(reason)) }
        settled = nil
        if let job = current { LetterRequest.change(job).refuse(reason) }
        current = nil
        while let request = waiting.popFirst() { request.refuse(reason) }
    }
}
