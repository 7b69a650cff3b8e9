import System

extension LogStore: DeadLetters {
    package func deadLetters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage {
        try door.letters.withLock { reader throws(QueueError) in
            try reader.page(filter, after: id, limit: limit)
        }
    }

    package func deadLetter(_ id: Int64) throws(QueueError) -> DeadLetter? {
        try door.letters.withLock { reader throws(QueueError) in try reader.letter(id) }
    }

    package func deadLetterSums() throws(QueueError) -> [DeadLetterSum] {
        try door.letters.withLock { reader throws(QueueError) in try reader.sums() }
    }

    package func replay(
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    ) {
        change(LetterJob(work: .replay, selection: selection, answer: whenDone))
    }

    package func purge(
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    ) {
        change(LetterJob(work: .purge, selection: selection, answer: whenDone))
    }

    private func change(_ job: LetterJob) {
        guard case .ids(let ids) = job.selection else { return door.post(.letters(.change(job))) }
        guard ids.count <= DeadLetterSelection.idsMax else {
            var result = DeadLetterChange()
            result.end = .tooManyIDs
            return job.answer(result)
        }
        var distinct = job
        distinct.selection = .ids(Set(ids).sorted())
        door.post(.letters(.change(distinct)))
    }

    package func replace(
        _ id: Int64,
        with edit: DeadLetterEdit,
        whenDone: @escaping @Sendable (DeadLetterEditOutcome) -> Void
    ) {
        door.post(.letters(.edit(id, edit, whenDone)))
    }
}
