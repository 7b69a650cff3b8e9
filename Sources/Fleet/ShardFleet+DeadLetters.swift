package import Queue
import SQLiteQueue
import System

extension ShardFleet: DeadLetters {
    /// Letters in the order of their shards' numbers. A page may be short: it ends with its shard.
    package func deadLetters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage {
        let all = owned.sorted { $0.shard.number < $1.shard.number }
        let first = Shard(ofLetter: id).number
        for one in all where one.shard.number >= first {
            let page = try one.queue.deadLetters(
                matching: filter,
                after: max(id, one.shard.letterID(0)),
                limit: limit
            )
            if page.next != nil { return page }
            let following = all.first { $0.shard.number > one.shard.number }
            let next = following.map { $0.shard.letterID(0) }
            if !page.letters.isEmpty || next == nil {
                return DeadLetterPage(letters: page.letters, next: next)
            }
        }
        return DeadLetterPage(letters: [], next: nil)
    }

    package func deadLetter(_ id: Int64) throws(QueueError) -> DeadLetter? {
        try queue(of: Shard(ofLetter: id))?.deadLetter(id)
    }

    package var deadLetterSums: [DeadLetterSum] {
        owned.flatMap { $0.queue.deadLetterSums }.joined
    }

    package func replay(
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    ) {
        change(selection, whenDone) { $0.replay($1, whenDone: $2) }
    }

    package func purge(
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    ) {
        change(selection, whenDone) { $0.purge($1, whenDone: $2) }
    }

    /// Changes letters of each shard, and answers with the sum.
    private func change(
        _ selection: DeadLetterSelection,
        _ whenDone: @escaping @Sendable (DeadLetterChange) -> Void,
        _ body: (
            DurableQueue, DeadLetterSelection, @escaping @Sendable (DeadLetterChange) -> Void
        ) -> Void
    ) {
        var parts: [(DurableQueue, DeadLetterSelection)] = []
        switch selection {
        case .matching: parts = owned.map { ($0.queue, selection) }
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
        for (queue, part) in parts { body(queue, part) { its in sum.add { $0.add(its) } } }
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
