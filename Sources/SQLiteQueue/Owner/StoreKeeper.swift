import Queue
import SQLite
import System

/// Opens the store, repairs a damaged database, and opens the store again after a failure.
final class StoreKeeper {
    let current: CurrentConfiguration
    let directory: DataDirectory
    let room: DiskRoom
    let salvager: DatabaseSalvager
    /// nil: there is no commit log; the database itself is what lasts.
    let shardLog: ShardLog?
    private let clock: QueueClock
    private let journal: Journal
    private let lock: DirectoryLock
    private(set) var store: OpenStore? {
        didSet { lastNumber = max(lastNumber, oldValue?.context.lastNumber ?? 0) }
    }
    /// The last number of a closed store. A later one begins after it, even with a new database:
    /// delivery may still hold packets with the old numbers.
    private var lastNumber: Int64 = 0
    private(set) var failures: StoreFailures
    private var ages: AgeBasis?
    /// True if the store was opened after a failure and the failed work was not tried again yet.
    private(set) var isBehind = false
    /// Logs by which starts had to correct ledgers.
    private(set) var repairedLogs = 0

    /// Takes the directory's lock. Does not open the database yet.
    init(
        _ current: CurrentConfiguration,
        _ clock: QueueClock,
        _ journal: Journal
    ) throws(QueueError) {
        self.current = current
        self.clock = clock
        self.journal = journal
        let directory = current.value.dataDirectory
        self.directory = directory
        room = DiskRoom(directory, diskBytes: current.tuning.diskBytes)
        salvager = DatabaseSalvager(current, in: directory, room: room, journal)
        shardLog = current.value.commitLog.map {
            ShardLog($0, current.value)
        }
        failures = StoreFailures(current.tuning)
        try directory.create()
        lock = try DirectoryLock(directory)
    }

    /// Called at the beginning of a turn, which repeats the failed work.
    func turnBegins() { isBehind = false }

    // MARK: - Opening

    /// Opens the database, or the readable part of a damaged one.
    func open(_ packets: PacketsInDelivery, acknowledged: [Int64]) throws(QueueError) {
        if let shardLog { return try openScratch(shardLog, packets) }
        try directory.settleSalvage()
        try directory.createDatabaseFile()
        if failures.isSpaceDoubtful {
            // SQLite would ignore damage of the files, or remove a WAL without a database.
            let areFilesSound = directory.problemOfFiles() == nil
            failures.checked(areFilesSound ? salvager.damageOfPages() : nil)
        }
        if let found = failures.damage {
            if directory.problemOfFiles() == nil, salvager.mendIndexes(because: found) {
                failures.damage = nil
            }
        } else {
            try checkFiles()
        }
        if let damage = failures.damage {
            var places: [Int64: PacketPlace] = [:]
            for number in acknowledged { places[number] = packets.place(of: number) ?? .unknown }
            try salvager.salvage(because: damage, acknowledged: places)
            failures.damage = nil
        }
        do throws(SQLiteError) {
            try recoverOrReadAgain(packets)
        } catch {
            guard error.kind == .corrupt else { throw QueueError(error, path: directory.database) }
            if !salvager.mendIndexes(because: error) { failures.damage = error }
            return try open(packets, acknowledged: acknowledged)
        }
        salvager.opened()
        // A kill may have come between a salvage and this call.
        salvager.copies.trim(to: DataDirectory.damagedCopiesMax, beside: store)
        do throws(QueueError) {
            try directory.sync()
        } catch {
            // A half-open store would take logs that delivery could not read.
            store = nil
            throw error
        }
    }

    /// Brings the scratch database to the state of the commit log, which also replaces a damaged
    /// one.
    private func openScratch(
        _ log: ShardLog,
        _ packets: PacketsInDelivery
    ) throws(QueueError) {
        if failures.damage != nil || failures.isSpaceDoubtful { log.discardScratch() }
        failures.checked(nil)
        failures.damage = nil
        do throws(SQLiteError) {
            try log.prepare(directory, current.value)
            try recover(packets)
        } catch {
            if error.isDamage { log.discardScratch() }
            throw QueueError(error, path: directory.database)
        }
    }

    /// Appends a part of a base to the commit log if one is due. Called between transactions.
    func workOnBase(_ store: OpenStore) throws(SQLiteError) {
        guard let shardLog else { return }
        let bytes = store.files.databaseBytes
        let hasRoom = { self.room.look() > 2 * bytes + self.current.value.freeBytesMin }
        try shardLog.workOnBase(directory, databaseBytes: bytes, hasRoom: hasRoom, journal)
    }

    /// True if the commit log must keep its room for acknowledgements and its next base.
    var isCommitLogNearlyFull: Bool { problemOfFullLog != nil }

    /// Why; nil: it has room for more.
    var problemOfFullLog: QueueError? {
        guard let shardLog, let store,
            shardLog.base.isNearlyFull(databaseBytes: store.files.databaseBytes)
        else { return nil }
        return shardLog.base.problemOfFullLog(shardLog.name)
    }

    private func checkFiles() throws(QueueError) {
        do throws(SQLiteError) {
            let isSynced = current.value.durability == .full
            failures.damage = try directory.checkFiles(isSynced: isSynced, journal)
        } catch {
            throw QueueError(error, path: directory.database)
        }
    }

    /// A read may fail once for many reasons. If it fails again, the sector is gone, and with it a
    /// part of the database.
    private func recoverOrReadAgain(_ packets: PacketsInDelivery) throws(SQLiteError) {
        do throws(SQLiteError) {
            try recover(packets)
        } catch  where error.isUnreadable {
            do throws(SQLiteError) {
                try recover(packets)
            } catch  where error.isUnreadable {
                throw .damage("\(error)")
            }
        }
    }

    private func recover(_ packets: PacketsInDelivery) throws(SQLiteError) {
        // Closing one of two connections would release the locks of both.
        precondition(store == nil, "the database is open already")
        let upgrade = SchemaUpgrade(
            directory: directory,
            room: room,
            journal: journal,
            freeBytesMin: current.value.freeBytesMin
        )
        let (store, recovery) = try OpenStore.open(
            directory.database,
            current.value,
            now: clock.now,
            handed: packets.numbers,
            ages: ages,
            numbersAfter: lastNumber,
            log: shardLog,
            keepingOlder: upgrade.keepOlder
        )
        ages = store.ages.basis
        packets.compare(with: store)
        upgrade.report(from: recovery.schemaBefore)
        report(recovery)
        try room.measure(store, current.value)
        self.store = store
        salvager.copies.recount(beside: store)
    }

    private func report(_ recovery: Recovery) {
        if recovery.areIndexesRebuilt {
            salvager.reports.mendedIndexes(
                because: .damage("the ledgers counted other logs than the index")
            )
        }
        for (destination, counted, found) in recovery.repaired {
            repairedLogs += Int((counted - found).magnitude)
            journal.error(
                "ledger did not agree with the queue and was corrected",
                ["destination": destination, "counted": counted, "found": found]
            )
        }
        if let (counted, found) = recovery.tallyRepaired {
            journal.error(
                "tally of received logs did not agree with the ledgers and was corrected",
                ["counted": counted, "found": found]
            )
        }
        if recovery.rows > 0 {
            journal.info("queue resumed", ["rows": recovery.rows, "packets": recovery.packets])
        }
    }

    /// Tries again when the pause after a failure is over. Returns true if it tried.
    func reopen(_ packets: PacketsInDelivery, acknowledged: [Int64]) -> Bool {
        guard store == nil, failures.mayTryAgain else { return false }
        do throws(QueueError) {
            try open(packets, acknowledged: acknowledged)
            isBehind = true
        } catch {
            failures.openingFailed(error)
        }
        return true
    }

    /// Copies more of a damaged database that is kept. Returns true if the store was opened again.
    func saveMore(
        _ store: OpenStore,
        _ packets: PacketsInDelivery
    ) throws(SQLiteError) -> Bool {
        guard try salvager.copyMore(into: store) else { return false }
        self.store = nil
        try recover(packets)
        salvager.copies.trim(to: DataDirectory.damagedCopiesMax, beside: self.store)
        // Copied content may be handed over at once.
        isBehind = true
        return true
    }

    // MARK: - Closing

    /// Discards the connection and everything in memory; a later attempt reads the disk again.
    /// After a failed sync the kernel may have dropped pages that it could not write, so neither
    /// SQLite's memory nor a second sync can be trusted.
    func failed(_ error: SQLiteError) {
        let hasSpace = room.look() >= max(current.value.freeBytesMin, 1 << 20)
        failures.examine(error, hasSpace: hasSpace, journal)
        // The system does not always report a lack of space as such.
        let isFull = error.kind == .io && !hasSpace && !error.isOfCommitLog
        let reason = isFull ? SQLiteError.full(error) : error
        close(because: QueueError(reason, path: directory.database))
    }

    func close(because problem: QueueError) {
        failures.failed(problem, journal)
        store?.database.rollBack()
        store = nil
        isBehind = false
    }

    func recovered() { failures.recovered(journal) }

    /// Closes the store without a failure, to open it with other rules.
    func closeToReread() { store = nil }

    /// Moves the WAL into the database and closes the store for good.
    func finish() {
        shardLog?.notePosition(directory)
        // The copy of a base reads the database, and the checkpoint would wait for it.
        shardLog?.base.stop(directory)
        do throws(SQLiteError) {
            try store?.database.connection.finish()
        } catch {
            journal.warning("queue closed without a checkpoint", ["reason": error])
        }
        store = nil
    }

    /// The basis is kept even if the transaction fails, because nothing reports the step again.
    func follow(_ step: Duration, in store: OpenStore) throws(SQLiteError) {
        defer { ages = store.ages.basis }
        try store.clockStepped(by: step)
    }
}

/// The present configuration, which the owner and its parts read here.
final class CurrentConfiguration {
    private(set) var value: QueueConfiguration

    init(_ value: QueueConfiguration) {
        self.value = value
    }

    var tuning: QueueTuning { value.tuning }

    func replace(with new: QueueConfiguration) { value = new }
}
