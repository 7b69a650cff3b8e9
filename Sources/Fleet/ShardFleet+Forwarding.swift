package import Queue
import SQLiteQueue
import System

extension ShardFleet: PacketSource {
    package func post(_ request: DeliveryRequest) {
        switch request {
        case .connect(let receiver): connect(to: receiver)
        case .packets: homeQueue.post(request)
        case .flush: for shard in openShards { shard.queue.post(request) }
        case .setAside(let packet): queue(of: packet.shard)?.post(request)
        case .end(let packet, let end):
            if let queue = giveUp(packet) {
                queue.post(request)
            } else if end == .stored {
                // The shard's next owner sends it once more.
                change { $0.lateAcknowledgements += 1 }
            }
        }
    }

    /// Delivery connects again when it has more destinations, which only the home shard announces.
    private func connect(to receiver: @escaping Receiver) {
        let (home, adopted) = state.withLock { state in
            let adopted = state.receiver == nil ? Array(state.adopted.values) : []
            state.receiver = receiver
            return (state.home, adopted)
        }
        deliverHome(home, to: receiver)
        for shard in adopted { deliver(shard, to: receiver) }
        // It may have been replaced meanwhile.
        if let aside = state.withLock({ $0.adopted[home.shard] }) { deliver(aside, to: receiver) }
    }

    package func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        guard let queue = queue(of: packet.shard) else {
            throw QueueError(.withdrawn, "\(packet.id) belongs to another gateway now.")
        }
        guard isTrusted else {
            throw QueueError(
                .unreachable,
                "\(packet.id) waits: another gateway may have its shard, or be about to."
            )
        }
        do throws(QueueError) {
            return try queue.blocks(of: packet)
        } catch {
            // Delivery drops such a packet and does not give it back.
            if [.withdrawn, .corrupt].contains(error.kind) { _ = giveUp(packet.id) }
            throw error
        }
    }

    /// Delivery gives the packet up. Returns its queue; nil: another gateway has the shard now.
    private func giveUp(_ packet: PacketID) -> DurableQueue? {
        let (queue, adopted) = state.withLock { state -> (DurableQueue?, AdoptedShard?) in
            if state.home.shard == packet.shard {
                return (state.isHomeLost ? nil : state.home.queue, nil)
            }
            let adopted = state.adopted[packet.shard]
            return (adopted?.owned.queue, adopted)
        }
        adopted?.ended(packet.number)
        return queue
    }
}

extension ShardFleet {
    package func list(
        _ wish: StreamWish,
        _ answer: @escaping @Sendable (StreamListing?) -> Void
    ) {
        let shards = openShards
        let all = AnswerSum<[StreamListing]>([], waitingFor: shards.count) { listings in
            answer(listings.count == shards.count ? StreamListing(joining: listings, wish) : nil)
        }
        for shard in shards {
            shard.queue.list(wish) { listing in
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

extension ShardFleet {
    package func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog] {
        var logs: [QueuedLog] = []
        for shard in openShards {
            logs += try shard.queue.oldestLogs(of: destination, logstore: logstore, limit: limit)
            logs.sort { $0.accepted < $1.accepted }
            logs = Array(logs.prefix(limit))
            logs = Array(logs.prefix(within: QueuedLog.bytesTogether))
        }
        return logs
    }
}

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

/// Gathers the answers of several shards, and gives one for all.
final class AnswerSum<Sum: Sendable>: Sendable {
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
