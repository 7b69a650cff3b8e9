import Logs
import Queue
import SQLite
import System

/// Batches of the transaction at hand, until they are rows.
final class BatchIntake: StorePart {
    let context: StoreContext
    private let weight: QueueWeight
    private let destinations: DestinationBook
    private let streams: StreamBook
    private let waiting: WaitingRows
    private let letters: DeadLetterBook
    /// Streams with batches of the transaction at hand.
    private var touched: [QueuedStream] = []
    /// Where batches are joined before they are compressed.
    private var joined: [UInt8] = []

    init(
        _ destinations: DestinationBook,
        _ streams: StreamBook,
        _ waiting: WaitingRows,
        _ letters: DeadLetterBook,
        _ weight: QueueWeight
    ) {
        context = weight.context
        self.weight = weight
        self.destinations = destinations
        self.streams = streams
        self.waiting = waiting
        self.letters = letters
    }

    /// Takes the batches into the transaction at hand, or says why it cannot.
    func stage(
        _ batches: [Batch],
        by maker: StreamShares.Maker = .unknown,
        areReplayed: Bool = false
    ) throws(SQLiteError) -> QueueAdmission? {
        let batches = destinations.addressed(batches)
        let time = now()
        if let refusal = reserve(batches, by: maker, time) { return refusal }
        for batch in batches where batch.logs.count > 0 {
            let stream = try streams.obtain(batch.stream, by: maker, time)
            streams.wake(stream, by: maker)
            if stream.staged.isEmpty { touched.append(stream) }
            stream.staged.append(batch.logs)
            if areReplayed { stream.stagedReplays += 1 }
        }
        for batch in batches where !batch.dead.isEmpty || batch.dropped > 0 {
            try letters.forgo(batch)
        }
        return nil
    }

    /// Reserves room for all of the batches, or says why there is none. What is reserved is the most they
    /// can need; what they do need is known when they are rows.
    private func reserve(
        _ batches: [Batch],
        by maker: StreamShares.Maker,
        _ time: WallTime
    ) -> QueueAdmission? {
        // Destinations of the streams that the batches wake: their shares are taken only to find places for all of them.
        var newStreams: [String] = []
        defer { for destination in newStreams { streams.giveShareBack(destination, maker) } }
        var shortage: QueueAdmission?
        var newStreamBytes = 0
        var newOutlets: Set<Outlet> = []
        for (index, batch) in batches.enumerated() where batch.takesRoom {
            let known = streams.taker(of: batch.stream, by: maker, time)
            let destination = known?.destination ?? destinations.named(batch.stream.destination)
            if batch.logs.count > 0, known?.isBusy != true {
                shortage = streams.takeShare(destination.name, maker)
                newStreams.append(destination.name)
                newStreamBytes += batch.stream.cost
                if !destination.logstores.busy.contains(batch.stream.logstore) {
                    newOutlets.insert(batch.stream.outlet)
                }
            }
            weight.reserve(most(batch) + DeadLetterBook.mostDead(batch), destination)
            let refusal =
                shortage
                ?? refusal(destination, outlets: newOutlets)
                ?? weight.refusal(destination, more: newStreamBytes, margins: false)
            if let refusal {
                for batch in batches[...index] where batch.takesRoom {
                    let most = most(batch) + DeadLetterBook.mostDead(batch)
                    weight.reserve(-most, destinations.named(batch.stream.destination))
                }
                return refusal
            }
        }
        return nil
    }

    private func refusal(
        _ destination: QueuedDestination,
        outlets: Set<Outlet>
    ) -> QueueAdmission? {
        guard !outlets.isEmpty else { return nil }
        let new = outlets.filter { $0.destination == destination.name }.map(\.logstore)
        return new.isEmpty || destination.hasPlaces(for: Set(new)) ? nil : .tooManyLogstores
    }

    /// Incompressible logs grow by less than a row's overhead.
    private func most(_ batch: Batch) -> Int {
        guard batch.logs.count > 0 else { return 0 }
        return batch.logs.bytes.count + (mostRows(batch) + 1) * RowRecord.overhead
    }

    /// A row ends where it has as many logs as a packet may, or where the next log would exceed its bytes: then it and
    /// the row behind it have more than one may.
    private func mostRows(_ batch: Batch) -> Int {
        let limits = configuration.rules(batch.stream.destination).packet
        let bytes = max(1, min(configuration.tuning.rowBytes, limits.rawBytes))
        let ends = 2 * batch.logs.bytes.count / bytes + batch.logs.count / max(1, limits.logs)
        return min(1 + ends, batch.logs.count)
    }

    /// Makes rows of what was staged: the batches of a stream share them, compressed together. Returns how many
    /// rows that were.
    @discardableResult
    func writeStaged() throws(SQLiteError) -> Int {
        guard !touched.isEmpty else { return 0 }
        try database.write()
        let time = now()
        let rowsBefore = weight.rows
        for stream in touched {
            let limits = stream.destination.limits
            let packer = RowPacker(
                rawBytesMax: min(configuration.tuning.rowBytes, limits.rawBytes),
                logsMax: limits.logs
            )
            let batches = stream.staged
            // Batches of a stream share rows, so new logs beside them hide the replayed ones.
            let areReplayed = stream.stagedReplays == batches.count
            (stream.staged, stream.stagedReplays) = ([], 0)
            try packer.pack(batches, scratch: &joined) { raw, logs throws(SQLiteError) in
                try waiting.add(raw, logs: logs, to: stream, areReplayed: areReplayed, time)
            }
            stream.outlet.schedule(stream, time)
            stream.destination.oldestFirst?.insert(stream)
        }
        touched.removeAll(keepingCapacity: true)
        weight.settleReserved(destinations.dirty.changed)
        return weight.rows - rowsBefore
    }

    /// No batch waits to be written.
    var isEmpty: Bool { touched.isEmpty }

    // MARK: - Dead letters

    /// Stages the letters as batches of their streams, all or none of them.
    func replay(_ stored: [StoredLetter]) throws(SQLiteError) -> LetterStep {
        var step = LetterStep()
        var logs: [StreamKey: EncodedLogs] = [:]
        var readable: [StoredLetter] = []
        for letter in stored {
            guard let log = letter.log else {
                step.unreadable += 1
                continue
            }
            logs[letter.record.stream, default: EncodedLogs()].bytes += log.bytes
            logs[letter.record.stream, default: EncodedLogs()].count += 1
            readable.append(letter)
        }
        // They need no room besides that which they have.
        letters.lift(readable, -1)
        step.refusal = try stage(
            logs.map { Batch(stream: $0.key, logs: $0.value) },
            by: .unknown,
            areReplayed: true
        )
        letters.lift(readable, 1)
        guard step.refusal == nil else { return step }
        for letter in readable {
            guard try letters.exhume(letter) else {
                throw .damage("a dead letter cannot be removed")
            }
            let name = letter.record.stream.destination
            // It is accepted once: its row will be counted as accepted and as queued.
            destinations.named(name).change { $0.accepted -= 1 }
            destinations.named(name).volumes.accepted -= letter.raw
            step.moved(name, to: \.queued)
        }
        return step
    }
}

extension Batch {
    fileprivate var takesRoom: Bool { logs.count > 0 || !dead.isEmpty }
}
