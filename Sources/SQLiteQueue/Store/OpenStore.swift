import Queue
import SQLite
import System

/// The open database and the owner's knowledge about it.
///
/// After any failed write the owner discards the store and reads it again from the disk, which is
/// the only truth. So no part needs to undo anything, and no other thread sees a change before its
/// commit.
///
/// Each part has the state that it changes. A part uses only parts that were made before it.
final class OpenStore: StorePart {
    let context: StoreContext
    let files: DatabaseFiles
    let ages: AgeBook
    let weight: QueueWeight
    let destinations: DestinationBook
    let streams: StreamBook
    /// Payloads that were stored a moment ago.
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
        context = StoreContext(database, configuration, now: now)
        files = DatabaseFiles(context)
        ages = AgeBook(context)
        weight = QueueWeight(context)
        destinations = DestinationBook(context)
        streams = StreamBook(ages, weight, destinations)
        recent = RecentPayloads(bytesMax: configuration.tuning.recentBytesMax)
        waiting = WaitingRows(streams, ages, weight, recent)
        packets = PacketBook(streams, ages, weight, recent)
        handOver = PacketHandOver(destinations, packets)
        letters = DeadLetterBook(destinations, ages, weight)
        intake = BatchIntake(destinations, streams, waiting, letters, weight)
        acknowledgements = Acknowledgements(destinations, streams, packets, waiting, ages)
        isolation = PacketIsolation(streams, packets, letters, weight)
        expiry = RowExpiry(ages, streams, packets, waiting, letters)
        overflow = Overflow(destinations, streams, waiting, ages, weight)
        repeats = RepeatMemory(ages, files)
        tally = TallyBook(context)
        absorptions = AbsorptionBook(letters, destinations, repeats, tally)
    }

    /// Opens the database, migrates it to this version and reads everything that the owner must
    /// know. Delivery already holds the packets `handed`; the others are handed over first. `ages`
    /// is nil at the start of the process.
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

    /// Makes everything since the last commit durable, including the ledger. The owner tells the
    /// watcher of logs that ended later, when the requests have their answers.
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

    /// Handles a step of the clock: ages continue unchanged, and no stream waits for a time that
    /// was taken back.
    func clockStepped(by step: Duration) throws(SQLiteError) {
        streams.shiftAges(by: try ages.step(by: step))
    }
}
