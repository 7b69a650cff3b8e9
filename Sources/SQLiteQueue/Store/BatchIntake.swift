import Logs
import Queue
import SQLite
import System

/// The batches of the current transaction, until they become rows.
final class BatchIntake: StorePart {
    let context: StoreContext
    private let weight: QueueWeight
    private let destinations: DestinationBook
    private let streams: StreamBook
    private let waiting: WaitingRows
    private let letters: DeadLetterBook
    /// Streams with batches of the current transaction.
    private var touched: [QueuedStream] = []
    /// The buffer in which batches are joined before compression.
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

    /// Takes the batches into the current transaction, or returns the reason against it.
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
            stream.staged.add(batch.logs, isReplayed: areReplayed)
        }
        for batch in batches where !batch.dead.isEmpty || batch.dropped > 0 {
            try letters.countUnqueued(batch)
        }
        return nil
    }

    /// Reserves room for all batches, or returns the reason why there is none. The reserved size is the greatest
    /// possible one; the real size is known after the batches became rows.
    private func reserve(
        _ batches: [Batch],
        by maker: StreamShares.Maker,
        _ time: WallTime
    ) -> QueueAdmission? {
        // The destinations of the streams that the batches wake. The loop takes their shares only to find places for
        // all of them.
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

    /// The greatest number of rows. A row ends when it has as many logs as a packet may have, or when the next log
    /// would exceed its bytes. In the second case the row and the next one together exceed the bytes of one row.
    private func mostRows(_ batch: Batch) -> Int {
        let limits = configuration.rules(batch.stream.destination).packet
        let bytes = max(1, min(configuration.tuning.rowBytes, limits.rawBytes))
        let ends = 2 * batch.logs.bytes.count / bytes + batch.logs.count / max(1, limits.logs)
        return min(1 + ends, batch.logs.count)
    }

    /// Makes rows of the staged batches. The batches of a stream share rows, which are compressed as a whole. Returns
    /// the number of rows.
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
            let (batches, areReplayed) = stream.staged.takeAll()
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

    /// True if no batch waits to be written.
    var isEmpty: Bool { touched.isEmpty }

    // MARK: - Dead letters

    /// Stages the letters as batches of their streams, all or none.
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
        // The letters need no room in addition to their present room.
        letters.weigh(readable, sign: -1)
        step.refusal = try stage(
            logs.map { Batch(stream: $0.key, logs: $0.value) },
            by: .unknown,
            areReplayed: true
        )
        letters.weigh(readable, sign: 1)
        guard step.refusal == nil else { return step }
        for letter in readable {
            guard try letters.takeOut(letter) else {
                throw .damage("a dead letter cannot be removed")
            }
            let name = letter.record.stream.destination
            // A log is accepted once, and its row will count as accepted and queued again.
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
