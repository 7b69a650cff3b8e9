package import Queue
import SQLiteQueue
import System

extension ShardFleet: DeadLetters {
    package var letterShards: [String] { owned.map(\.name).sorted() }

    package func letterName(_ id: Int64) -> LetterName {
        let shard = Shard(ofLetter: id)
        let name = openShards.first { $0.shard == shard }?.name
        return LetterName(shard: name, number: shard.number(ofLetter: id) ?? id)
    }

    package func letterID(_ name: LetterName) -> Int64? {
        // Operators choose it.
        guard Shard.canNumber(name.number) else { return nil }
        return owned.first { $0.name == name.shard }?.shard.letterID(name.number)
    }

    /// The letters of one shard, the one of `id`.
    package func deadLetters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage {
        guard let queue = queue(of: Shard(ofLetter: id)) else {
            return DeadLetterPage(letters: [], next: nil)
        }
        return try queue.deadLetters(matching: filter, after: id, limit: limit)
    }

    package func deadLetter(_ id: Int64) throws(QueueError) -> DeadLetter? {
        try queue(of: Shard(ofLetter: id))?.deadLetter(id)
    }

    package var deadLetterSums: [DeadLetterSum] {
        openShards.flatMap { $0.queue.deadLetterSums }.joined
    }

    /// Changes letters of each shard, and answers with the sum.
    package func change(
        _ work: DeadLetterWork,
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    ) {
        var parts: [(DurableQueue, DeadLetterSelection)] = []
        switch selection {
        case .matching: parts = openShards.map { ($0.queue, selection) }
        case .ids(let ids):
            guard ids.count <= DeadLetterSelection.idsMax else {
                var refused = DeadLetterChange()
                refused.end = .tooManyIDs
                return whenDone(refused)
            }
            for (shard, own) in Dictionary(grouping: ids, by: { Shard(ofLetter: $0) }) {
                if let queue = queue(of: shard) { parts.append((queue, .ids(own))) }
            }
        }
        let sum = AnswerSum(DeadLetterChange(), waitingFor: parts.count, whenDone)
        for (queue, part) in parts { queue.change(work, part) { its in sum.add { $0.add(its) } } }
    }

    package func replace(
        _ id: Int64,
        with edit: DeadLetterEdit,
        whenDone: @escaping @Sendable (DeadLetterEditOutcome) -> Void
    ) {
        guard let queue = queue(of: Shard(ofLetter: id)) else { return whenDone(.notFound) }
        queue.replace(id, with: edit, whenDone: whenDone)
    }
}

extension DeadLetterChange {
    fileprivate mutating func add(_ other: DeadLetterChange) {
        changed += other.changed
        unreadable += other.unreadable
        effects.merge(other.effects) { $0 + $1 }
        if end == .complete { end = other.end }
    }
}
