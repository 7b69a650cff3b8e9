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
        let queues = queues.sorted { $0.shard.number < $1.shard.number }
        let first = Shard(ofLetter: id).number
        for (shard, queue) in queues where shard.number >= first {
            let page = try queue.deadLetters(
                matching: filter,
                after: max(id, shard.letterID(0)),
                limit: limit
            )
            if page.next != nil { return page }
            let following = queues.first { $0.shard.number > shard.number }
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
        queues.flatMap { $0.queue.deadLetterSums }.joined
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
        case .matching: parts = queues.map { ($0.queue, selection) }
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
        let sum = Answers(DeadLetterChange(), waitingFor: parts.count, whenDone)
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

/// Gathers the answers of several shards, and gives one for all.
private final class Answers<Sum: Sendable>: Sendable {
    private let state: Locked<(sum: Sum, left: Int)>
    private let whenDone: @Sendable (Sum) -> Void

    init(_ empty: Sum, waitingFor count: Int, _ whenDone: @escaping @Sendable (Sum) -> Void) {
        state = Locked((empty, count))
        self.whenDone = whenDone
        if count == 0 { whenDone(empty) }
    }

    func add(_ body: (inout Sum) -> Void) {
        let sum = state.withLock { state -> Sum? in
            body(&state.sum)
            state.left -= 1
            return state.left == 0 ? state.sum : nil
        }
        if let sum { whenDone(sum) }
    }
}

// MARK: - Decisions

extension ShardFleet: Decisions {
    package func decide(
        _ decision: Decision,
        whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
    ) {
        control.decide(decision, whenDurable)
    }

    package func recall(
        _ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void
    ) {
        answer(.success(control.settings))
    }

    package func followDecisions(_ receiver: @escaping @Sendable ([String: [UInt8]]) -> Void) {
        control.follow(receiver)
    }

    package var areDecisionsShared: Bool { true }

    package func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    ) {
        answer(.success(control.entries(before: id, limit: limit)))
    }
}

// MARK: - Streams

extension ShardFleet: StreamLister {
    package func list(
        _ wish: StreamWish,
        _ answer: @escaping @Sendable (StreamListing?) -> Void
    ) {
        let queues = queues
        let all = Answers<[StreamListing]>([], waitingFor: queues.count) { listings in
            answer(listings.count == queues.count ? StreamListing(joining: listings, wish) : nil)
        }
        for (_, queue) in queues {
            queue.list(wish) { listing in
                all.add { listings in listing.map { listings.append($0) } }
            }
        }
    }
}

extension StreamListing {
    fileprivate init(joining listings: [StreamListing], _ wish: StreamWish) {
        var joined: [String: Destination] = [:]
        for (name, found) in listings.flatMap({ Array($0.destinations) }) {
            let known = joined[name] ?? Destination()
            let entries = (known.entries + found.entries).sorted { left, right in
                switch wish.order {
                case .oldest: left.oldest < right.oldest
                case .largest: left.rawBytes > right.rawBytes
                }
            }
            joined[name] = Destination(
                entries: Array(entries.prefix(wish.count)),
                more: known.more + found.more + max(0, entries.count - wish.count)
            )
        }
        self.init(joined)
    }
}

extension ShardFleet: LogPeeker {
    package func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog] {
        var logs: [QueuedLog] = []
        for (_, queue) in queues {
            logs += try queue.oldestLogs(of: destination, logstore: logstore, limit: limit)
        }
        return Array(logs.sorted { $0.accepted < $1.accepted }.prefix(limit))
    }
}
