import Logs
import Queue
import SQLite
import System

/// The batches of the current transaction, until they become rows.
final class BatchIntake: StreamPart {
    let streams: StreamBook
    private let waiting: WaitingRows
    private let letters: DeadLetterBook
    /// Logs of optional batches that found no room since the last look.
    private var skipped: [Skipped: Int] = [:]
    /// Streams with batches of the current transaction.
    private var touched: [QueuedStream] = []
    private let press = RowPress()

    init(_ waiting: WaitingRows, _ letters: DeadLetterBook) {
        streams = waiting.streams
        self.waiting = waiting
        self.letters = letters
    }

    /// Takes the batches, or returns the reason against it. Skips optional batches without room.
    func stage(
        _ batches: [Batch],
        by origin: StreamShares.Origin = .unknown
    ) throws(SQLiteError) -> QueueAdmission? {
        var batches = destinations.addressed(batches)
        let time = now()
        var crowdedOut: [Int: QueueAdmission] = [:]
        if let refusal = reserve(batches, by: origin, time, &crowdedOut) { return refusal }
        if !crowdedOut.isEmpty {
            try database.write()
            for (index, reason) in crowdedOut { skip(batches[index], because: reason) }
            batches = batches.indices.filter { crowdedOut[$0] == nil }.map { batches[$0] }
        }
        // A span: a loop over elements copies each, with all its references.
        let span = batches.span
        for index in span.indices where span[index].logs.count > 0 {
            let stream = try streams.obtain(span[index].stream, by: origin, time)
            streams.wake(stream, by: origin)
            if stream.staged.isEmpty { touched.append(stream) }
            stream.staged.add(span[index])
        }
        for index in span.indices where !span[index].dead.isEmpty || span[index].dropped > 0 {
            try letters.countUnqueued(span[index])
        }
        return nil
    }

    private func skip(_ batch: Batch, because reason: QueueAdmission) {
        let name = batch.stream.destination
        destinations.named(name).change { $0.skipped += Int64(batch.allLogs) }
        skipped[Skipped(destination: name, reason: reason), default: 0] += batch.allLogs
        batch.track?.add(skipped: batch.allLogs)
    }

    /// Returns the logs that were skipped since the last call.
    func takeSkipped() -> [Skipped: Int] {
        defer { if !skipped.isEmpty { skipped = [:] } }
        return skipped
    }

    /// Streams and logstores that the request's batches need and that have no logs yet.
    private struct NewPlaces {
        /// The destinations of the streams. Their shares are taken only to find places for all.
        var shares: [String] = []
        var streamBytes = 0
        var outlets: Set<Outlet> = []
        /// Streams with replayed batches already counted as new; one stream may have several.
        var replayed: Set<StreamKey> = []
    }

    /// Reserves room for all batches but optional ones without any, whose indexes it adds to
    /// `crowdedOut`. If it returns a refusal, nothing is reserved.
    private func reserve(
        _ batches: [Batch],
        by origin: StreamShares.Origin,
        _ time: WallTime,
        _ crowdedOut: inout [Int: QueueAdmission]
    ) -> QueueAdmission? {
        var places = NewPlaces()
        defer { for destination in places.shares { streams.giveShareBack(destination, origin) } }
        let span = batches.span
        for index in span.indices where span[index].takesRoom {
            guard let refusal = reserve(span[index], &places, by: origin, time) else { continue }
            if !span[index].isRequired, refusal.concernsDestination {
                crowdedOut[index] = refusal
                continue
            }
            for index in 0..<index where batches[index].takesRoom && crowdedOut[index] == nil {
                let destination = destinations.named(batches[index].stream.destination)
                weight.reserve(-most(batches[index], destination), destination)
            }
            return refusal
        }
        return nil
    }

    /// Reserves the greatest possible size; the real size is known after the batch became rows.
    private func reserve(
        _ batch: Batch,
        _ places: inout NewPlaces,
        by origin: StreamShares.Origin,
        _ time: WallTime
    ) -> QueueAdmission? {
        let known = streams.taker(of: batch.stream, by: origin, time)
        let destination = known?.destination ?? destinations.named(batch.stream.destination)
        var isNewStream = batch.logs.count > 0 && known?.isBusy != true
        if isNewStream, batch.replays > 0 {
            isNewStream = places.replayed.insert(batch.stream).inserted
        }
        var shortage: QueueAdmission?
        var isNewOutlet = false
        if isNewStream {
            shortage = streams.takeShare(destination.name, origin)
            places.shares.append(destination.name)
            places.streamBytes += batch.stream.cost
            if !destination.logstores.busy.contains(batch.stream.logstore) {
                isNewOutlet = places.outlets.insert(batch.stream.outlet).inserted
            }
        }
        let most = most(batch, destination)
        weight.reserve(most, destination)
        let refusal =
            shortage
            ?? refusal(destination, outlets: places.outlets)
            ?? weight.refusal(destination, more: places.streamBytes, margins: false)
        guard let refusal else { return nil }
        weight.reserve(-most, destination)
        if isNewStream {
            streams.giveShareBack(destination.name, origin)
            places.shares.removeLast()
            places.streamBytes -= batch.stream.cost
        }
        if isNewOutlet { places.outlets.remove(batch.stream.outlet) }
        return refusal
    }

    private func refusal(
        _ destination: QueuedDestination,
        outlets: Set<Outlet>
    ) -> QueueAdmission? {
        guard !outlets.isEmpty else { return nil }
        let new = outlets.filter { $0.destination == destination.name }.map(\.logstore)
        return new.isEmpty || destination.hasPlaces(for: Set(new)) ? nil : .tooManyLogstores
    }

    /// The greatest size of the batch. Incompressible logs grow by less than a row's overhead.
    private func most(_ batch: Batch, _ destination: QueuedDestination) -> Int {
        let dead = DeadLetterBook.mostDead(batch)
        guard batch.logs.count > 0 else { return dead }
        let rows = mostRows(batch, destination) + 1
        return dead + batch.logs.bytes.count + rows * RowRecord.overhead
    }

    /// A row ends when it has as many logs as a packet may have, or when the next log would exceed
    /// its bytes; in that case it and the next one together exceed the bytes of one row.
    private func mostRows(_ batch: Batch, _ destination: QueuedDestination) -> Int {
        let limits = destination.limits
        let bytes = max(1, min(configuration.tuning.rowBytes, limits.rawBytes))
        let ends = 2 * batch.logs.bytes.count / bytes + batch.logs.count / max(1, limits.logs)
        return min(1 + ends, batch.logs.count)
    }

    /// Makes rows of the staged batches. Those of a stream share rows. Returns the number of rows.
    @discardableResult
    func writeStaged() throws(SQLiteError) -> Int {
        guard !touched.isEmpty else { return 0 }
        try database.write()
        let time = now()
        let rowsBefore = weight.rows
        var planned: [PlannedRow] = []
        var parts: [StagedPart] = []
        for stream in touched {
            let limits = stream.destination.limits
            let packer = RowPacker(
                rawBytesMax: min(configuration.tuning.rowBytes, limits.rawBytes),
                logsMax: limits.logs
            )
            let staged = stream.staged.takeAll()
            packer.plan(staged.batches, to: &planned)
            parts.append(StagedPart(stream: stream, staged: staged, end: planned.count))
            for (replays, batches) in staged.replayed.sorted(by: { $0.key < $1.key }) {
                packer.plan(batches, to: &planned)
                parts.append(StagedPart(stream: stream, replays: replays, end: planned.count))
            }
        }
        let rows = press.compress(planned)
        var start = 0
        for part in parts {
            try write(rows[start..<part.end], of: part, time)
            start = part.end
        }
        for stream in touched {
            stream.outlet.schedule(stream, time)
            stream.destination.oldestFirst?.insert(stream)
        }
        touched.removeAll(keepingCapacity: true)
        weight.settleReserved(destinations.dirty.changed)
        return weight.rows - rowsBefore
    }

    /// Batches of a stream that may share rows.
    private struct StagedPart {
        let stream: QueuedStream
        /// nil: nobody follows these batches.
        var staged: StagedBatches?
        var replays = 0
        /// The end of its rows among all rows of the transaction.
        let end: Int
    }

    private func write(
        _ rows: ArraySlice<PackedRow>,
        of part: StagedPart,
        _ time: WallTime
    ) throws(SQLiteError) {
        var written = 0
        for packed in rows {
            let row = try waiting.add(packed, to: part.stream, replays: part.replays, time)
            part.staged?.tell(
                row: row,
                of: context.name(of: part.stream),
                logs: packed.logs,
                at: written
            )
            written += packed.logs
        }
    }

    /// True if no batch waits to be written.
    var isEmpty: Bool { touched.isEmpty }

    // MARK: - Dead letters

    /// Replayed logs that may share rows.
    private struct ReplayedLogs: Hashable {
        let stream: StreamKey
        let replays: Int
    }

    /// Stages the letters as batches of their streams, all or none.
    func replay(_ stored: [StoredLetter]) throws(SQLiteError) -> LetterStep {
        var step = LetterStep()
        var logs: [ReplayedLogs: EncodedLogs] = [:]
        var readable: [StoredLetter] = []
        for letter in stored {
            guard let log = letter.log else {
                step.unreadable += 1
                continue
            }
            let record = letter.record
            let kind = ReplayedLogs(stream: record.stream, replays: record.replays + 1)
            logs[kind, default: EncodedLogs()].bytes += log.bytes
            logs[kind, default: EncodedLogs()].count += 1
            readable.append(letter)
        }
        // The letters need no room in addition to their present room.
        letters.weigh(readable, sign: -1)
        step.refusal = try stage(
            logs.map { kind, logs in
                var batch = Batch(stream: kind.stream, logs: logs)
                batch.replays = kind.replays
                return batch
            }
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
            step.count(name, to: \.queued)
        }
        return step
    }
}

extension Batch {
    fileprivate var takesRoom: Bool { logs.count > 0 || !dead.isEmpty }
}

/// The destination of skipped logs, and why it had no room.
struct Skipped: Hashable {
    let destination: String
    let reason: QueueAdmission
}
