import Queue
import SQLite
import System

/// The open database and what the owner knows about it.
///
/// One value per life: after any failed write it is thrown away and read again from the disk, which is
/// the only truth. So nothing in here needs to be undone, and nothing in here is shown to anybody before
/// the commit that made it true.
final class OpenStore {
    let database: QueueDatabase
    var configuration: QueueConfiguration
    let now: @Sendable () -> WallTime

    /// Of each key the newest, which has the earlier ones; and how many these are.
    var streams: [StreamKey: QueuedStream] = [:]
    var earlierStreams = 0
    var destinations: [String: QueuedDestination] = [:]
    let dirty = DirtyLists()
    /// Outlets that came or went since this was last looked at.
    var changedOutlets: Set<Outlet> = []
    /// Sealed, not yet acknowledged.
    var packets: [Int64: QueuedPacket] = [:]
    /// Requests that are remembered, and how many were forgotten before their age since this was looked at.
    var repeats = RepeatIndex()
    var forgottenEarly = 0
    var ids = IdentifierSupply(after: 0)
    var recent: RecentPayloads
    /// Streams that are not empty.
    var busyStreams = 0
    var shares: StreamShares
    /// Empty streams, in the order in which they became so.
    var resting = Fifo<QueuedStream>()
    var restingBytes = 0

    /// What the queue's bound counts, rows and the streams that are not empty, and its rows. See `weigh`.
    var bytes = 0
    var rows = 0
    /// The file's size when it was last looked at.
    var databaseBytes = 0
    /// What is still to be copied from damaged databases; the ledgers count it.
    var remainders: [Remainder] = []
    /// See `makeLogCertain`.
    var isLogCertain = false

    /// The owner keeps it for the store that comes after this one.
    var ages = AgeBasis()

    /// Free pages wait to be given back.
    var hasSpareSpace = false

    var deadSums = DeadSums()

    /// What could be dropped for the queue's bound: rows that wait where the oldest make room.
    var droppableBytes = 0

    /// Streams and packets with rows that are too old; and whether there are dead letters that are.
    var expiring: [QueuedStream] = []
    var expiringPackets: [Int64] = []
    var hasExpiredLetters = false
    var isExpiring: Bool {
        !expiring.isEmpty || !expiringPackets.isEmpty || hasExpiredLetters
    }

    /// Logs that an overflow dropped since this was last looked at.
    var dropped: [Overflowed: Int] = [:]
    /// A bound is exceeded, and more could be dropped.
    var needsRoom = false

    /// Streams with batches of the transaction at hand, and their bytes at most.
    var touched: [QueuedStream] = []
    var stagedBytes = 0
    /// Where batches are joined before they are compressed.
    var joined: [UInt8] = []

    init(
        _ database: QueueDatabase,
        _ configuration: QueueConfiguration,
        now: @escaping @Sendable () -> WallTime
    ) {
        self.database = database
        self.configuration = configuration
        self.now = now
        shares = StreamShares(configuration.streamBounds)
        recent = RecentPayloads(bytesMax: configuration.tuning.recentBytesMax)
    }

    /// Makes everything since the last commit durable, the ledger with it.
    func commit() throws(SQLiteError) {
        guard database.isWriting else { return }
        for destination in dirty.changed where destination.isLedgerStale {
            try database.save(destination.ledger, of: destination.name)
            destination.isLedgerStale = false
        }
        try database.commit()
    }

    /// Files a stream that may have become empty, and forgets the longest empty ones: a fleet whose
    /// devices come and go leaves no trail.
    func rest(_ stream: QueuedStream) throws(SQLiteError) {
        if stream.isEmpty { sleep(stream) }
        if stream.isEmpty, let newest = streams[stream.key] {
            // An earlier generation takes nothing more, and the newest may have waited for it to go.
            if newest !== stream { try forget(stream) }
            if newest.isEmpty, newest.earlier == nil { lineUp(newest) }
        }
        let tuning = configuration.tuning
        while resting.count > tuning.idleStreams || restingBytes > tuning.idleStreamBytes,
            let oldest = resting.popFirst()
        {
            oldest.isResting = false
            restingBytes -= oldest.cost
            // It may have been used since, or be gone.
            guard oldest.isEmpty, oldest.earlier == nil, streams[oldest.key] === oldest else {
                continue
            }
            try forget(oldest)
        }
    }

    private func lineUp(_ stream: QueuedStream) {
        guard !stream.isResting else { return }
        stream.isResting = true
        resting.append(stream)
        restingBytes += stream.cost
    }
}
