package import Queue
import System

extension DurableQueue: DeadLetters {
    package func deadLetters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage {
        var portion = DeadLetterReader.portion(limit: limit)
        let shard = door.shard
        // A page may begin behind the letters of another shard.
        var next: Int64? = max(0, id - shard.letterID(0))
        // Each step is a transaction of its own. Between two steps the owner can close the reader.
        for _ in 0..<Self.pageStepsMax {
            guard let position = next, !portion.isFull else { break }
            next = try door.letters.withLock { reader throws(QueueError) in
                try reader.collect(filter, after: position, into: &portion)
            }
        }
        return DeadLetterPage(
            letters: portion.letters.map { $0.letter(of: shard) },
            next: next.map(shard.letterID)
        )
    }

    private static let pageStepsMax = 25

    package func deadLetter(_ id: Int64) throws(QueueError) -> DeadLetter? {
        guard let number = door.shard.number(ofLetter: id) else { return nil }
        let stored = try door.letters.withLock { reader throws(QueueError) in
            try reader.letter(number)
        }
        return stored?.letter(of: door.shard)
    }

    package var deadLetterSums: [DeadLetterSum] { door.status.withLock { $0.deadLetters } }

    package func change(
        _ work: DeadLetterWork,
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    ) {
        var job = LetterJob(work: work, selection: selection, answer: whenDone)
        if case .ids(let ids) = selection {
            guard ids.count <= DeadLetterSelection.idsMax else {
                job.result.end = .tooManyIDs
                return whenDone(job.result)
            }
            // Distinct ones.
            let numbers = Set(ids).compactMap(door.shard.number(ofLetter:))
            job.selection = .ids(numbers.sorted())
        }
        door.post(.letters(.change(job)))
    }

    package func replace(
        _ id: Int64,
        with edit: DeadLetterEdit,
        whenDone: @escaping @Sendable (DeadLetterEditOutcome) -> Void
    ) {
        guard let number = door.shard.number(ofLetter: id) else { return whenDone(.notFound) }
        door.post(.letters(.edit(number, edit, whenDone)))
    }
}

// MARK: - Decisions

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

    package func followDecisions(_ receiver: @escaping @Sendable () -> Void) {}

    package var areDecisionsShared: Bool { false }

    package func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    ) {
        door.post(.decision(.audit(before: id, limit: limit, answer)))
    }
}

// MARK: - Streams

extension DurableQueue: StreamLister {
    package func list(
        _ wish: StreamWish,
        _ answer: @escaping @Sendable (StreamListing?) -> Void
    ) {
        door.post(.list(StreamQuestion(wish: wish, answer: answer)))
    }
}

extension DurableQueue: LogPeeker {
    package func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog] {
        try door.letters.withLock { reader throws(QueueError) in
            try reader.oldestLogs(of: destination, logstore: logstore, limit: limit)
        }
    }
}
