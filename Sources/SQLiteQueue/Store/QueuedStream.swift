import Logs
import Queue
import System

/// A stream as the owner sees it: what waits in it, in sums. The rows themselves are on disk only, so
/// that an outage costs memory by the stream, not by the row.
final class QueuedStream {
    let id: Int64
    let key: StreamKey
    let cost: Int
    /// Unowned: it holds its streams in its lines, and is forgotten after the last of them.
    unowned let outlet: QueuedOutlet
    /// The generation of the same key before it.
    var earlier: QueuedStream?
    /// On the disk it is of another logstore: what comes under this name must not come back under that one.
    let isRenamed: Bool
    let packPrefix: String
    var nextPack: Int64

    /// The last row that belongs to a packet; those behind it wait.
    var sealedThrough: Int64 = 0
    /// Also when it left since.
    var lastRow: Int64 = 0
    var waitingRows = 0
    var waitingLogs = 0 {
        didSet { destination.queuedLogs += waitingLogs - oldValue }
    }
    var waitingRaw = 0
    /// When the first waiting row was stored.
    var oldest = WallTime(nanoseconds: 0)

    /// Packets sealed and not yet acknowledged.
    var packetCount = 0
    /// A flush seals up to this row without waiting for size or age.
    var flushThrough: Int64 = 0
    /// Stands in its outlet's line of streams to seal from.
    var isRipe = false
    /// Stands in its outlet's heap of ages.
    var isAging = false
    /// Stands in its destination's heap of oldest rows.
    var isListed = false
    /// Counted among those that are not empty, for the one that made it so.
    var isBusy = false
    var maker = StreamShares.Maker.unknown
    /// Stands in the line of empty streams to forget.
    var isResting = false
    /// Batches of the transaction at hand, not yet made into rows.
    var staged: [EncodedLogs] = []
    /// How many of the staged batches are replayed dead letters.
    var stagedReplays = 0
    var replayed = ReplayedRows()

    init(_ record: StreamRecord, _ outlet: QueuedOutlet) {
        id = record.id
        // The outlet's own strings: those of each record would be one more copy per stream.
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

    var isEmpty: Bool { waitingRows == 0 && packetCount == 0 && staged.isEmpty }

    /// Nothing waits in the generations before it.
    var isEldest: Bool {
        guard var next = earlier else { return true }
        while next.waitingRows == 0 {
            guard let before = next.earlier else { return true }
            next = before
        }
        return false
    }

    func packID(_ pack: Int64) -> String {
        "\(packPrefix)-\(String(pack, radix: 16, uppercase: true))"
    }
}

/// Which rows of a stream hold replayed dead letters and nothing else. Kept in memory only, and of the newest replays.
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

/// A sealed packet that is not yet acknowledged.
struct QueuedPacket {
    var record: PacketRecord
    let stream: QueuedStream
    let rowCount: Int
    /// What it counts for in the bound of the queue.
    let bytes: Int
    /// It may have been sent under its lane: in an earlier life, or in this one before it was taken back.
    var wasHandedOver = false
}
