import Queue
import SQLite
import System

/// The open database and the owner's knowledge about it.
///
/// After a failed write the owner discards the store and reads it again from the disk, the only
/// truth. So no part needs to undo anything, and no other thread sees a change before its commit.
///
/// Each part has the state that it changes, and uses only parts that were made before it.
final class OpenStore: StreamPart {
    let files: DatabaseFiles
    let streams: StreamBook
    let recent: RecentPayloads
    let waiting: WaitingRows
    let packets: PacketBook
    let handOver: PacketHandOver
    let letters: DeadLetterBook
    let intake: BatchIntake
    let acknowledgements: Acknowledgements
    let isolation: PacketIsolation
    let expiry: RowExpiry
    let overflow: Overflow
    let repeats: RepeatMemory
    let tally: TallyBook
    let absorptions: AbsorptionBook

    init(
        _ database: QueueDatabase,
        _ configuration: QueueConfiguration,
        now: @escaping @Sendable () -> WallTime
    ) {
        let context = StoreContext(database, configuration, now: now)
        files = DatabaseFiles(context)
        let ages = AgeBook(context)
        streams = StreamBook(ages, QueueWeight(context), DestinationBook(context))
        recent = RecentPayloads(bytesMax: configuration.tuning.recentBytesMax)
        waiting = WaitingRows(streams, recent)
        packets = PacketBook(streams, recent)
        handOver = PacketHandOver(packets)
        letters = DeadLetterBook(streams)
        intake = BatchIntake(waiting, letters)
        acknowledgements = Acknowledgements(packets, waiting)
        isolation = PacketIsolation(packets, letters)
        expiry = RowExpiry(packets, waiting, letters)
        overflow = Overflow(waiting)
        repeats = RepeatMemory(ages, files)
        tally = TallyBook(context)
        absorptions = AbsorptionBook(letters, repeats, tally)
    }

    /// Opens the database, migrates it and reads everything that the owner must know. Delivery
    /// already holds the packets `handed`; the others go first. `ages` is nil at the start of the
    /// process.
    static func open(
        _ path: String,
        _ configuration: QueueConfiguration,
        now: @escaping @Sendable () -> WallTime,
        handed: Set<Int64>,
        ages: AgeBasis? = nil,
        numbersAfter lastNumber: Int64 = 0,
        log: (any ChangeLog)? = nil,
        keepingOlder keep: QueueDatabase.KeepOlder = { _, _ in }
    ) throws(SQLiteError) -> (OpenStore, Recovery) {
        let (connection, found) = try QueueDatabase.connect(path, configuration, keepingOlder: keep)
        let database = try QueueDatabase(connection, path: path, log: log)
        func recover(
            correctingLedgers: Bool
        ) throws(SQLiteError) -> (OpenStore, Recovery) {
            let store = OpenStore(database, configuration, now: now)
            let recovery = try store.recover(
                handed: handed,
                ages: ages,
                numbersAfter: lastNumber,
                correctingLedgers: correctingLedgers
            )
            return (store, recovery)
        }
        var (store, recovery) = try recover(correctingLedgers: false)
        if !recovery.repaired.isEmpty {
            // The rows were counted in an index. If that is damaged, the ledgers are right.
            var areIndexesRebuilt = false
            do throws(SQLiteError) {
                areIndexesRebuilt = try IndexRepair.rebuild(connection)
            } catch  where !error.isDamage {
                // Without space for new indexes the queue must still open: deliveries make space.
            }
            (store, recovery) = try recover(correctingLedgers: true)
            recovery.areIndexesRebuilt = areIndexesRebuilt
        }
        recovery.schemaBefore = found
        return (store, recovery)
    }

    /// Makes everything since the last commit durable, with the ledgers. The owner tells the
    /// watcher of ended logs later, when the requests have their answers.
    func commit() throws(SQLiteError) {
        precondition(intake.isEmpty, "a commit would answer for batches that are in no row")
        guard database.isWriting else { return }
        for destination in destinations.dirty.changed where destination.isLedgerStale {
            try database.ledgers.save(destination.ledger, of: destination.name)
            destination.ledgerSaved()
        }
        try tally.save()
        try database.commit()
    }

    /// Applies new rules and bounds. Sealed packets stay unchanged.
    func apply(_ new: QueueConfiguration) {
        context.apply(new)
        streams.changeShares(to: new.streamBounds)
        destinations.applyRules()
        weight.recountDroppable(destinations.all)
        destinations.dirty.isUnpublished = true
        streams.rescheduleAll()
    }

    /// After a step of the clock ages continue unchanged, and no stream waits for a lost time.
    func clockStepped(by step: Duration) throws(SQLiteError) {
        streams.shiftAges(by: try ages.step(by: step))
    }
}

/// The state that all parts of a store share: database, rules, time and the supply of numbers.
final class StoreContext {
    let database: QueueDatabase
    private(set) var configuration: QueueConfiguration
    let now: @Sendable () -> WallTime
    private var ids = IdentifierSupply(after: 0)
    /// Learns of logs that end without delivery. Set when the owner has opened the store.
    var watcher: WatcherSlot?
    /// Logs whose end the watcher does not know yet.
    private var ended: [EndedLogs] = []

    init(
        _ database: QueueDatabase,
        _ configuration: QueueConfiguration,
        now: @escaping @Sendable () -> WallTime
    ) {
        self.database = database
        self.configuration = configuration
        self.now = now
    }

    func apply(_ new: QueueConfiguration) { configuration = new }

    // MARK: - Ends of logs

    var isWatched: Bool { watcher?.wantsEnds ?? false }

    /// Notes for the watcher that logs end in the current transaction.
    func note(_ logs: EndedLogs) {
        if isWatched { ended.append(logs) }
    }

    func note(_ row: RowRecord, of stream: QueuedStream, _ end: EndedLogs.End) {
        note(EndedLogs(stream: name(of: stream), numbers: row.numbers, end: end))
    }

    func name(of stream: QueuedStream) -> StreamID {
        StreamID(shard: configuration.shard, number: stream.id)
    }

    /// Tells the watcher of durable ends, after a commit and its answers. `DatabaseFiles` commits
    /// by itself, so there may be ends although the last turn wrote nothing.
    func tellEnded() {
        precondition(!database.isWriting, "an end would be told before its commit")
        guard !ended.isEmpty else { return }
        watcher?.current?.note(ended)
        ended.removeAll()
    }

    // MARK: - Numbers

    /// At a start: finds the highest number in use, in the database or since the process began.
    func recoverNumbers(after lastNumber: Int64) throws(SQLiteError) {
        let highest = try IdentifierSupply.highest(database.connection)
        ids = IdentifierSupply(after: max(highest, lastNumber))
    }

    /// A number that was never given out.
    func takeNumber() throws(SQLiteError) -> Int64 { try ids.take(database) }

    func takeNumbers(_ count: Int) throws(SQLiteError) -> Int64 {
        try ids.take(database, count: count)
    }

    var lastNumber: Int64 { ids.last }
}

protocol StorePart: AnyObject {
    var context: StoreContext { get }
}

extension StorePart {
    var database: QueueDatabase { context.database }
    var configuration: QueueConfiguration { context.configuration }
    func now() -> WallTime { context.now() }
}

/// A part that uses the streams, and with them the ages, the weight and the destinations.
protocol StreamPart: StorePart {
    var streams: StreamBook { get }
}

extension StreamPart {
    var context: StoreContext { streams.context }
    var ages: AgeBook { streams.ages }
    var weight: QueueWeight { streams.weight }
    var destinations: DestinationBook { streams.destinations }
}

/// The queue starts before its watcher is known, and stores come and go while it stays.
final class WatcherSlot: Sendable {
    private let watcher = Locked<(any QueueWatcher)?>(nil)

    var current: (any QueueWatcher)? { watcher.withLock { $0 } }

    var wantsEnds: Bool { current?.wantsEnds ?? false }

    func set(_ new: any QueueWatcher) { watcher.withLock { $0 = new } }
}
