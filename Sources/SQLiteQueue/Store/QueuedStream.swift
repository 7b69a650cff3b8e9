import Logs
import Queue
import System

/// A stream as sums of its waiting rows. The rows themselves are only on disk, so an outage costs
/// memory by the stream, not by the row.
final class QueuedStream {
    let id: Int64
    let key: StreamKey
    let cost: Int
    /// Unowned: the outlet holds its streams in its lines, and is removed after the last of them.
    unowned let outlet: QueuedOutlet
    var earlier: QueuedStream?
    /// True if the disk has another logstore, under which new logs must not come back.
    let isRenamed: Bool
    let packPrefix: String
    var nextPack: Int64

    var waiting = WaitingSums() {
        didSet { destination.queuedLogs += waiting.logs - oldValue.logs }
    }
    var packetCount = 0
    private var lines: Lines = []
    /// The sender in whose share the stream counts. Nil if the stream counts as empty.
    var origin: StreamShares.Origin?
    var staged = StagedBatches()
    var replayed = ReplayedRows()

    init(_ record: StreamRecord, _ outlet: QueuedOutlet) {
        id = record.id
        // The outlet's own strings: the record's would be one more copy per stream.
        key = StreamKey(
            destination: outlet.name.destination,
            logstore: outlet.name.logstore,
            trailer: record.key.trailer
        )
        cost = record.key.cost
        isRenamed = record.key.logstore != outlet.name.logstore
        packPrefix = record.packPrefix
        nextPack = record.nextPack
        self.outlet = outlet
        outlet.streamCount += 1
    }

    var destination: QueuedDestination { outlet.destination }

    var isEmpty: Bool { waiting.isEmpty && packetCount == 0 && staged.isEmpty }

    var isBusy: Bool { origin != nil }

    var isEldest: Bool {
        guard var next = earlier else { return true }
        while next.waiting.isEmpty {
            guard let before = next.earlier else { return true }
            next = before
        }
        return false
    }

    // MARK: - Lines

    /// The lists of streams, each of which has a stream at most once.
    struct Lines: OptionSet {
        let rawValue: UInt8
        /// The outlet's streams to seal from: `RipeStreams`.
        static let ripe = Lines(rawValue: 1)
        /// The outlet's streams by the time at which they reach their age.
        static let aging = Lines(rawValue: 2)
        /// The destination's streams by their oldest row: `OldestFirst`.
        static let oldestFirst = Lines(rawValue: 4)
        /// The empty streams that will be removed: `StreamBook`.
        static let resting = Lines(rawValue: 8)
    }

    func isIn(_ line: Lines) -> Bool { lines.contains(line) }

    /// Called by the list that takes the stream.
    func enter(_ line: Lines) {
        precondition(!lines.contains(line), "a stream is in a line twice")
        lines.insert(line)
    }

    /// Called by the list that the stream has left.
    func leave(_ line: Lines) {
        precondition(lines.contains(line), "a stream leaves a line in which it is not")
        lines.remove(line)
    }

    func packID(_ pack: Int64) -> String {
        "\(packPrefix)-\(String(pack, radix: 16, uppercase: true))"
    }
}

/// The rows of a stream that are in no packet, as sums. They lie after all its packets.
struct WaitingSums {
    private(set) var rows = 0
    private(set) var logs = 0
    private(set) var raw = 0
    /// The time at which the first row was stored. It means nothing without rows.
    private(set) var oldest = WallTime(nanoseconds: 0)
    /// The last row that belongs to a packet.
    private(set) var sealedThrough: Int64 = 0
    /// The stream's last row, even if it has left.
    private(set) var lastRow: Int64 = 0
    private var flushThrough: Int64 = 0

    var isEmpty: Bool { rows == 0 }

    /// True if rows are to be sealed without waiting for size or age.
    var isFlushed: Bool { sealedThrough < flushThrough }

    /// Adds a row at the end. Only for the first row `begin` is asked for.
    mutating func add(_ row: RowRecord, since begin: @autoclosure () -> WallTime) {
        if isEmpty { oldest = begin() }
        lastRow = row.id
        rows += 1
        logs += row.logs
        raw += row.raw
    }

    /// Removes the first rows, which became a packet.
    mutating func seal(_ cut: PacketCut, through last: Int64) {
        sealedThrough = last
        rows -= cut.rows.count
        logs -= cut.logs
        raw -= cut.raw
    }

    /// Removes rows that left without a packet.
    mutating func remove(rows goneRows: Int, logs goneLogs: Int, raw goneRaw: Int) {
        rows -= goneRows
        logs -= goneLogs
        raw -= goneRaw
        if isEmpty { flushThrough = 0 }
    }

    /// Notes that the stream has a packet up to this row.
    mutating func begin(after row: Int64) { sealedThrough = max(sealedThrough, row) }

    mutating func setOldest(_ time: WallTime) { oldest = time }

    /// Lets all present rows be sealed now.
    mutating func flush() { flushThrough = lastRow }
}

struct StagedBatches {
    /// A batch that a capture follows.
    struct Tracked {
        let track: BatchTrack
        /// The place of its first log among all logs that are staged.
        let offset: Int
        let logs: Int
    }

    struct Staged: Sendable {
        let logs: EncodedLogs
        /// The same logs, if they were compressed before.
        let rows: [PackedRow]
    }

    /// New logs, which may share rows.
    private(set) var batches: [Staged] = []
    /// Replayed dead letters by their count of replays. Only logs with the same count share a row.
    private(set) var replayed: [Int: [Staged]] = [:]
    private(set) var tracked: [Tracked] = []
    private var logs = 0

    var isEmpty: Bool { batches.isEmpty && replayed.isEmpty }

    mutating func add(_ batch: Batch) {
        let new = Staged(logs: batch.logs, rows: batch.rows)
        guard batch.replays == 0 else {
            return replayed[batch.replays, default: []].append(new)
        }
        if let track = batch.track {
            tracked.append(Tracked(track: track, offset: logs, logs: batch.logs.count))
        }
        batches.append(new)
        logs += batch.logs.count
    }

    mutating func takeAll() -> StagedBatches {
        defer { self = StagedBatches() }
        return self
    }

    /// Tells followed batches that these logs became a row. `offset` is the place of its first log
    /// among all staged ones.
    func tell(row: Int64, of stream: StreamID, logs count: Int, at offset: Int) {
        for batch in tracked {
            let first = max(batch.offset, offset)
            let last = min(batch.offset + batch.logs, offset + count) - 1
            guard first <= last else { continue }
            let numbers = row + Int64(first - offset)...row + Int64(last - offset)
            batch.track.add(BatchTrack.Place(stream: stream, row: row, numbers: numbers))
        }
    }
}

/// Rows that hold only replayed dead letters. Only in memory, for the newest replays.
struct ReplayedRows {
    static let rangesMax = 16

    private var ranges: [ClosedRange<Int64>] = []

    /// `before` is the stream's last row before these.
    mutating func add(_ rows: ClosedRange<Int64>, after before: Int64) {
        if let last = ranges.last, last.contains(before) {
            ranges[ranges.count - 1] = last.lowerBound...rows.upperBound
        } else {
            if ranges.count == Self.rangesMax { ranges.removeFirst() }
            ranges.append(rows)
        }
    }

    func contains(_ rows: ClosedRange<Int64>) -> Bool {
        ranges.contains { $0.contains(rows.lowerBound) && $0.contains(rows.upperBound) }
    }
}

struct QueuedPacket {
    var record: PacketRecord
    let stream: QueuedStream
    let rowCount: Int
    /// Its weight in the bound of the queue.
    let bytes: Int
    /// True if the packet may have been sent under its lane, by this process or an earlier one.
    var wasHandedOver = false
}
