import Queue
import SQLite
import System

extension QueueOwner {
    func take(_ request: LetterRequest) {
        guard letters.waiting.count < LetterWork.requestsMax else { return request.turnAway() }
        letters.waiting.append(request)
    }

    /// One step of the change at hand, or of the next one.
    func changeLetters(in store: OpenStore) throws(SQLiteError) {
        letters.settled = nil
        if letters.current == nil, let request = letters.waiting.popFirst() {
            switch request {
            case .change(var job):
                job.last = store.ids.last
                letters.current = job
            case .edit(let id, let edit, let answer):
                // Should this transaction fail, it is refused: it may be asked for again.
                letters.settled = .edit(.refused(.failing), answer)
                letters.settled = .edit(try store.replace(id, with: edit), answer)
            }
        }
        guard var job = letters.current else { return }
        let (portion, position, isLast) = try portion(of: job, in: store)
        let fits = portion.reduce(0) { $0 + $1.cost } <= roomBytes
        var step = LetterStep()
        if !fits, job.work == .replay {
            step.refusal = .diskFull
        } else {
            step =
                switch job.work {
                case .replay: try store.replay(portion)
                case .purge: try store.purge(portion)
                }
        }
        job.add(step, position: position)
        letters.settled = .job(job, isDone: isLast || step.refusal != nil)
    }

    /// The letters of the next step, where the one behind it begins, and whether there is none.
    private func portion(
        of job: LetterJob,
        in store: OpenStore
    ) throws(SQLiteError) -> ([StoredLetter], Int64, isLast: Bool) {
        var portion = DeadQueries.Portion(
            letters: LetterWork.lettersOfStep,
            bytes: LetterWork.bytesOfStep
        )
        let queries = store.database.dead.queries
        switch job.selection {
        case .ids(let ids):
            var position = Int(job.position)
            let end = min(position + LetterWork.lettersOfStep, ids.count)
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

    /// After a commit: tells whoever asked, once all is done.
    func answerLetters() {
        guard let settled = letters.settled else { return }
        letters.settled = nil
        switch settled {
        case .edit(let outcome, let answer): answer(outcome)
        case .job(let job, isDone: false): letters.current = job
        case .job(let job, isDone: true):
            letters.current = nil
            say(job)
            job.answer(job.result)
        }
    }

    private func say(_ job: LetterJob) {
        guard job.result.changed > 0 else { return }
        let event = job.work == .replay ? "dead letters replayed" : "dead letters purged"
        journal.info(event, ["letters": job.result.changed])
    }

    /// Nobody can change anything now.
    func refuseLetters(_ reason: QueueAdmission) {
        if case .edit(_, let answer)? = letters.settled { answer(.refused(reason)) }
        letters.settled = nil
        if let job = letters.current { LetterRequest.change(job).refuse(reason) }
        letters.current = nil
        while let request = letters.waiting.popFirst() { request.refuse(reason) }
    }
}
