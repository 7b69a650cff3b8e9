import Queue
import System

/// A change of dead letters that somebody asked for.
enum LetterRequest: Sendable {
    case change(LetterJob)
    case edit(Int64, DeadLetterEdit, @Sendable (DeadLetterEditOutcome) -> Void)

    /// Nothing more will be done for it.
    func refuse(_ reason: QueueAdmission) {
        switch self {
        case .change(var job):
            job.result.end = .refused(reason)
            job.answer(job.result)
        case .edit(_, _, let answer): answer(.refused(reason))
        }
    }

    /// As many wait as may.
    func turnAway() {
        switch self {
        case .change(var job):
            job.result.end = .busy
            job.answer(job.result)
        case .edit(_, _, let answer): answer(.busy)
        }
    }
}

/// A replay or a purge, done in steps.
struct LetterJob: Sendable {
    enum Work: Sendable {
        case replay, purge
    }

    let work: Work
    /// Ids are distinct.
    var selection: DeadLetterSelection
    let answer: @Sendable (DeadLetterChange) -> Void
    /// Behind which letter, or which of the ids, the next step begins.
    var position: Int64 = 0
    /// Letters that died since it began do not belong to it; what is replayed may die again at once.
    var last: Int64?
    var result = DeadLetterChange()

    /// Counts a step that is durable.
    mutating func add(_ step: LetterStep, position: Int64) {
        self.position = position
        result.changed += step.changed
        result.unreadable += step.unreadable
        result.effects.merge(step.effects) { $0 + $1 }
        if let refusal = step.refusal { result.end = .refused(refusal) }
    }
}

/// Changes of dead letters that wait, and what the transaction at hand does for the first.
struct LetterWork {
    /// Each may name thousands of ids.
    static let requestsMax = 64
    static let lettersOfStep = 1000
    static let bytesOfStep = 4 << 20

    var waiting = Fifo<LetterRequest>()
    /// Begun, and more than one step.
    var current: LetterJob?
    /// What holds once the transaction is durable.
    var settled: Settled?

    enum Settled {
        case job(LetterJob, isDone: Bool)
        case edit(DeadLetterEditOutcome, @Sendable (DeadLetterEditOutcome) -> Void)
    }

    var isEmpty: Bool { waiting.isEmpty && current == nil }
}
