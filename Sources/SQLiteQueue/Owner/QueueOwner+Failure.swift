import Queue
import SQLite
import System

/// How long a store that failed is left alone: longer each time, until a write succeeds.
struct RetryPause {
    private let shortest: Duration
    private let longest: Duration
    private var pause: Duration
    private(set) var next = Moment(nanoseconds: 0)

    init(_ tuning: QueueTuning) {
        shortest = tuning.retryMin
        longest = tuning.retryMax
        pause = shortest
    }

    mutating func failed() {
        next = .now + pause
        pause = min(longest, pause * 2)
    }

    mutating func succeeded() {
        pause = shortest
    }
}

extension QueueOwner {
    /// A write failed. The connection and everything known are thrown away and read again from the disk
    /// later: after a failed sync the kernel may have dropped what it could not write, so neither SQLite's
    /// memory nor a second sync can be trusted.
    func failed(_ error: SQLiteError) {
        // What cannot be read twice will not be read the third time.
        if error.isUnreadable && wasUnreadable { damage = error }
        if error.kind == .corrupt, !isReadAgain(because: error) { damage = error }
        wasUnreadable = error.isUnreadable
        close(because: QueueError(diagnosed(error), path: directory.database))
    }

    /// Where what is known and what is stored disagree, what is known may be wrong: then it is enough to read the store again,
    /// which compares all its parts. When it happens again soon after, the store is damaged.
    private func isReadAgain(because error: SQLiteError) -> Bool {
        guard error.isOurs, nextReading <= .now else { return false }
        nextReading = .now + .seconds(600)
        journal.warning(
            "queue does not agree with its database, which is read again",
            ["reason": error]
        )
        return true
    }

    /// Until it can be opened again.
    func close(because problem: QueueError) {
        if self.problem == nil {
            journal.error("queue cannot be written", ["reason": problem])
        }
        self.problem = problem
        losses = TransactionLosses()
        counts.failures += 1
        store?.database.rollBack()
        store = nil
        isBehind = false
        door.stopReading()
        retry.failed()
        publish()
    }

    /// A file that cannot grow is not always reported as such: where no space is left, that is the reason.
    private func diagnosed(_ error: SQLiteError) -> SQLiteError {
        disk.look()
        let isFull = disk.freeBytes < max(configuration.freeBytesMin, 1 << 20)
        return error.kind == .io && isFull ? .full(error) : error
    }

    /// Tries again when the pause is over.
    func reopen() {
        guard store == nil, retry.next <= .now else { return }
        do {
            try open()
            isBehind = true
            publish()
        } catch {
            problem = error
            retry.failed()
            publish()
        }
    }

    /// A commit succeeded.
    func recovered() {
        guard problem != nil else { return }
        problem = nil
        wasUnreadable = false
        retry.succeeded()
        journal.info("queue is written again")
    }

    /// Opens the database, or what can be saved of a damaged one, and lets the reader use it.
    func open() throws(QueueError) {
        try directory.settleSalvage()
        try directory.createDatabaseFile()
        if let found = damage {
            if directory.problemOfFiles() == nil, mendIndexes(because: found) { damage = nil }
        } else {
            try look()
        }
        if let damage {
            try salvage(because: damage)
            self.damage = nil
        }
        do throws(SQLiteError) {
            try recoverOrReadAgain()
        } catch {
            guard error.kind == .corrupt else { throw QueueError(error, path: directory.database) }
            if !mendIndexes(because: error) { damage = error }
            return try open()
        }
        areIndexesMended = false
        // A kill may have come between a salvage and this.
        trimDamagedCopies(to: DataDirectory.damagedCopiesMax)
        do throws(QueueError) {
            try directory.sync()
        } catch {
            // Opened by half it would take logs, and nobody could read them.
            store = nil
            throw error
        }
        door.allowReading()
    }

    private func look() throws(QueueError) {
        do throws(SQLiteError) {
            let isSynced = configuration.durability == .full
            damage = try directory.lookIntoFiles(isSynced: isSynced, journal)
        } catch {
            throw QueueError(error, path: directory.database)
        }
    }

    /// A read may fail once for many reasons; where it fails again the sector is gone, and with it a part of
    /// the database.
    private func recoverOrReadAgain() throws(SQLiteError) {
        do throws(SQLiteError) {
            try recover()
        } catch  where error.isUnreadable {
            do throws(SQLiteError) {
                try recover()
            } catch  where error.isUnreadable {
                throw .damage("\(error)")
            }
        }
    }

    func recover() throws(SQLiteError) {
        let (store, recovery) = try OpenStore.open(
            directory.database,
            configuration,
            now: clock.now,
            handed: Set(handed.keys),
            ages: ages,
            keepingOlder: keepOlder
        )
        ages = store.ages
        compareHanded(with: store)
        departures.tryAgain()
        report(recovery)
        try measureRoom(store)
        self.store = store
        countDamagedCopies()
        compareOutlets(with: store)
    }

    private func report(_ recovery: Recovery) {
        reportUpgrade(from: recovery.schemaBefore)
        for (destination, counted, found) in recovery.repaired {
            counts.repairedLogs += Int((counted - found).magnitude)
            journal.error(
                "ledger did not agree with the queue and was put right",
                ["destination": destination, "counted": counted, "found": found]
            )
        }
        if recovery.rows > 0 {
            journal.info("queue resumed", ["rows": recovery.rows, "packets": recovery.packets])
        }
    }
}
