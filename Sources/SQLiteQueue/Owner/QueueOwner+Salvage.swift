import Glibc
import Queue
import SQLite
import System

extension QueueOwner {
    /// Moves a damaged database aside and puts a new one in its place, with as much of what can be read as there is room for.
    func salvage(because damage: SQLiteError) throws(QueueError) {
        // A disk that damages what was just written would fill itself with copies.
        guard nextSalvage <= .now else { throw QueueError(damage, path: directory.database) }
        nextSalvage = .now + .seconds(60)
        let aside = try directory.linkAside(.now)
        if !salvageLacksRoom {
            journal.error(
                "queue database is damaged and is moved aside",
                ["reason": damage, "kept": aside]
            )
        }
        do throws(SQLiteError) {
            try beginSalvage(from: aside)
        } catch {
            directory.removeSalvage()
            directory.unlinkAside(aside)
            salvageLacksRoom = error.kind == .full
            guard salvageLacksRoom else { throw QueueError(error, path: directory.salvage) }
            // Nothing was kept, and there may be room soon.
            nextSalvage = .now
            guard trimDamagedCopies(to: 0, atMost: 1) else {
                throw QueueError(error, path: directory.salvage)
            }
            return try salvage(because: damage)
        }
        salvageLacksRoom = false
        try directory.replaceDamaged()
        counts.salvages += 1
        trimDamagedCopies(to: DataDirectory.damagedCopiesMax)
    }

    private func name(of aside: String) -> String {
        String(aside.dropFirst(directory.path.count + 1))
    }

    /// A read error may pass, so it tries again after a pause. The last attempt goes on without what cannot be read: a bad
    /// sector must not keep the queue from opening.
    private func beginSalvage(from aside: String) throws(SQLiteError) {
        var pause = configuration.tuning.retryMin
        for _ in 1..<Self.readAttempts {
            do throws(SQLiteError) {
                return try beginSalvage(from: aside, isLast: false)
            } catch  where error.isUnreadable {
                usleep(useconds_t(pause / .microseconds(1)))
                pause = min(pause * 2, configuration.tuning.retryMax)
            }
        }
        try beginSalvage(from: aside, isLast: true)
    }

    private static let readAttempts = 5

    private func beginSalvage(from aside: String, isLast: Bool) throws(SQLiteError) {
        directory.removeSalvage()
        let (connection, _) = try QueueDatabase.connect(directory.salvage, configuration)
        let saved = try QueueDatabase(connection, path: directory.salvage)
        let noted = directory.notedRemainders(besides: aside)
        if var salvage = try openDamaged(aside, into: saved, isLast: isLast) {
            var places: [Int64: PacketPlace] = [:]
            for number in acknowledged { places[number] = place(of: number) ?? .unknown }
            try salvage.begin(acknowledged: places, noted: noted)
            report(salvage.losses)
            directory.note(salvage.remainder)
            // After the last attempt packets and rows have attempts of their own, from the queue that is open then.
            if !isLast { try go(on: &salvage, from: aside, atMost: Self.savedAtOnce) }
        } else {
            try saved.write()
            for earlier in noted { try saved.adopt(earlier) }
            try saved.commit()
            report(Salvage.Losses(ledger: true, repeats: true, decisions: true))
        }
        try connection.finish()
        directory.removeIndex(of: aside)
    }

    /// Nil where nothing can be read. The file stays marked then: somebody may know how to read it.
    private func openDamaged(
        _ aside: String,
        into saved: QueueDatabase,
        isLast: Bool
    ) throws(SQLiteError) -> Salvage? {
        let file = DamagedFile(aside, skippingUnreadable: isLast)
        do throws(SQLiteError) {
            let damaged = try Connection(aside, .readWrite)
            let highest = try Salvage.highest(damaged, in: file)
            let remainder = Remainder(of: name(of: aside), upTo: highest)
            return try Salvage(from: damaged, in: file, into: saved, configuration, remainder)
        } catch  where error.isDamage {
            return nil
        } catch  where isLast && error.isUnreadable {
            // Not even its first page can be read. The queue begins empty, and tries to copy each minute.
            let remainder = Remainder(of: name(of: aside), upTo: Salvage.unknownHighest)
            try saved.beginWithout(remainder)
            directory.note(remainder)
            return nil
        }
    }

    /// A queue that copies takes and delivers nothing. More than this is copied in several goes.
    private static let savedAtOnce = 256 << 20

    private func go(
        on salvage: inout Salvage,
        from aside: String,
        atMost most: Int
    ) throws(SQLiteError) {
        let before = salvage.remainder
        let saved = salvage.saved
        var rest = most
        let outcome = try salvage.copy { () throws(SQLiteError) in
            let room = min(try roomToSave(saved), rest)
            rest -= min(room, configuration.tuning.transactionBytes)
            return room
        } whenAllIsCopied: {
            directory.unmark(aside)
        }
        let remainder = salvage.remainder
        if case .done = outcome {
            directory.forgetNote(of: remainder.file)
        } else {
            directory.note(remainder)
        }
        counts.salvagedLogs += Int(remainder.savedLogs - before.savedLogs)
        if let error = salvage.file.readError, outcome == .unreadable {
            asideAttempts[remainder.file, default: .init()].readFailures += 1
            postponeCopying(remainder, for: configuration.tuning.asideRetry)
            reportUnreadable(error, remainder, from: aside)
        } else {
            // A step that skipped something and then had no room keeps its attempts until it gets past that place.
            let isBehind = (remainder.phase, remainder.through) != (before.phase, before.through)
            if isBehind || !salvage.file.hasSkipped { asideAttempts[remainder.file] = nil }
            report(outcome, remainder, from: aside)
        }
    }

    /// Bytes that may be copied at a time. They go into the log and from there into the database, and what is free in either
    /// takes no space. A salvage may use what the queue leaves free for others: while it cannot go on nothing
    /// leaves. It keeps what acknowledgements need, which make room.
    private func roomToSave(_ saved: QueueDatabase) throws(SQLiteError) -> Int {
        let tuning = configuration.tuning
        let isLogFree = try saved.connection.checkpoint(.passive) == .nothing
        let log = isLogFree ? fileSize(saved.path + "-wal") ?? 0 : 0
        let spare = try saved.freePages() * tuning.pageBytes
        disk.look()
        // Negative where acknowledgements have used what is kept for them: then the files have to hold it.
        let free = disk.freeBytes - tuning.checkpointBytes / 16
        // Each transaction writes ledgers, the remainder and inner pages besides.
        let besides = 16 * tuning.pageBytes
        return max(0, min(min(spare, log) + free, (spare + log + free) / 2) - besides)
    }
}

// MARK: - Damage that needs no copy

extension QueueOwner {
    /// Rebuilds the indexes where nothing else is damaged, once before the store is opened again.
    func mendIndexes(because damage: SQLiteError) -> Bool {
        guard !areIndexesMended else { return false }
        areIndexesMended = true
        do throws(SQLiteError) {
            let (connection, _) = try QueueDatabase.connect(directory.database, configuration)
            guard try IndexRepair.run(connection) else { return false }
        } catch {
            return false
        }
        journal.error(
            "an index of the queue database was damaged and is rebuilt from its table",
            ["reason": damage, "remedy": "look at the disk"]
        )
        return true
    }
}

// MARK: - What did not fit

/// Damaged databases that may have the only copy of logs.
struct UnsavedCopies {
    var bytes = 0
    /// Those that the journal named last.
    var said: [String] = []
}

/// Attempts to copy more from a damaged database.
struct AsideAttempts {
    /// When the next one may be.
    var next = Moment(nanoseconds: 0)
    /// So many in a row were ended by a read error.
    var readFailures = 0
}

extension QueueOwner {
    private func mayCopy(_ remainder: Remainder) -> Bool {
        asideAttempts[remainder.file].map { $0.next <= .now } ?? true
    }

    private func postponeCopying(_ remainder: Remainder, for pause: Duration) {
        var attempts = asideAttempts[remainder.file] ?? AsideAttempts()
        attempts.next = max(attempts.next, .now + pause)
        asideAttempts[remainder.file] = attempts
    }

    /// Copies more of a damaged database once logs have left or space was freed. Returns whether the store was opened anew.
    func saveMore(_ store: OpenStore) throws(SQLiteError) -> Bool {
        guard let remainder = store.remainders.first(where: mayCopy) else { return false }
        let room = try roomToSave(store.database)
        let most = min(Self.savedAtOnce, configuration.bytesMax - store.bytes)
        guard isEnough(min(room, most), for: store) else {
            warnOfRemainders(store)
            return false
        }
        let rest = try go(on: remainder, in: store, atMost: most)
        // Where not even one more row fits it is no use to try at once.
        if rest == remainder { postponeCopying(remainder, for: .seconds(1)) }
        self.store = nil
        try recover()
        trimDamagedCopies(to: DataDirectory.damagedCopiesMax)
        // What was copied may be handed over at once.
        isBehind = true
        publish()
        return true
    }

    /// A store that is opened anew reads all its rows, so it is worth some of them.
    private func isEnough(_ room: Int, for store: OpenStore) -> Bool {
        let wanted = max(1 << 20, min(64 << 20, store.databaseBytes / 2))
        return room >= wanted || (room > 0 && store.rows == 0)
    }

    /// Returns what is left then.
    private func go(
        on remainder: Remainder,
        in store: OpenStore,
        atMost most: Int
    ) throws(SQLiteError) -> Remainder {
        let aside = "\(directory.path)/\(remainder.file)"
        let saved = store.database
        guard access(aside, F_OK) == 0 || errno != ENOENT else {
            directory.unmark(aside)
            let lost = try Salvage.finish(remainder, in: saved)
            report(.done(lost: lost), remainder, from: aside)
            return Remainder(of: remainder.file, upTo: 0)
        }
        let readFailures = asideAttempts[remainder.file]?.readFailures ?? 0
        guard let damaged = try? Connection(aside, .readWrite),
            var salvage = try? Salvage(
                from: damaged,
                in: DamagedFile(aside, skippingUnreadable: readFailures >= Self.readAttempts),
                into: saved,
                configuration,
                remainder
            )
        else {
            journal.warning(
                "a damaged queue that is kept aside cannot be opened; its logs wait",
                [
                    "file": aside,
                    "remedy": "let the gateway read and write it; it tries again each minute",
                ]
            )
            postponeCopying(remainder, for: configuration.tuning.asideRetry)
            return remainder
        }
        try go(on: &salvage, from: aside, atMost: most)
        return salvage.remainder
    }

    private func warnOfRemainders(_ store: OpenStore) {
        guard nextRemainderWarning <= .now else { return }
        nextRemainderWarning = .now + .seconds(600)
        journal.warning(
            "logs of a damaged queue wait until others have left",
            [
                "logs": store.remainders.reduce(0) { $0 + $1.logs },
                "files": store.remainders.map(\.file).joined(separator: " "),
                "free_bytes": disk.freeBytes,
                "remedy": "leave the files where they are; free disk space to have it done sooner",
            ]
        )
    }

    /// Deletes damaged databases of which the queue has all that can be read, the oldest first. Returns whether it did.
    @discardableResult
    func trimDamagedCopies(to most: Int, atMost limit: Int = .max) -> Bool {
        let deleted = directory.removeDamagedCopies(
            keeping: most,
            atMost: limit,
            inUse: (store?.remainders ?? []).map(\.file)
        )
        for aside in deleted {
            counts.damagedCopiesRemoved += 1
            journal.warning(
                "a damaged database that was kept aside is deleted; the queue has what can be read of it",
                ["deleted": aside, "free_bytes": disk.freeBytes]
            )
        }
        countDamagedCopies()
        return !deleted.isEmpty
    }

    /// The journal names each copy that stays for ever and that the queue copies nothing from. An operator has to delete it:
    /// only a human can decide that nobody needs its logs.
    func countDamagedCopies() {
        damagedCopies = directory.damagedCopies.count
        let unsaved = directory.unsavedCopies
        unsavedCopies.bytes = unsaved.reduce(0) { $0 + directory.bytes(of: $1) }
        guard let store else { return }
        let inUse = Set(store.remainders.map(\.file))
        let left = unsaved.filter { !inUse.contains(name(of: $0)) }
        defer { unsavedCopies.said = left }
        guard !left.isEmpty, left != unsavedCopies.said else { return }
        journal.warning(
            "damaged databases are kept that may have the only copy of logs; the gateway never deletes them",
            [
                "files": left.map(name).joined(separator: " "), "bytes": unsavedCopies.bytes,
                "free_bytes": disk.freeBytes,
                "remedy": "look at the disk and copy them elsewhere; "
                    + "then delete each with the file …-unsaved beside it",
            ]
        )
    }
}

// MARK: - What is said of it

extension QueueOwner {
    private func report(_ outcome: Salvage.Outcome, _ remainder: Remainder, from aside: String) {
        switch outcome {
        case .done(let lost):
            counts.lostLogs += Int(lost)
            journal.error(
                "queue database was rebuilt from what could be read",
                ["saved_logs": remainder.savedLogs, "lost_logs": lost, "kept": aside]
            )
            guard remainder.hasUnreadable else { return }
            journal.error(
                "parts of a damaged queue could not be read again and again, and count as lost",
                [
                    "kept": aside,
                    "remedy": "look at the disk; the file is kept until you delete it",
                ]
            )
        case .unreadable: break
        case .noRoom:
            // Once, and not for each step.
            guard nextRemainderWarning <= .now else { return }
            nextRemainderWarning = .now + .seconds(600)
            journal.warning(
                "the disk has no room for all of a damaged queue; the rest is copied as logs leave",
                [
                    "saved_logs": remainder.savedLogs, "waiting_logs": remainder.logs,
                    "kept": aside, "free_bytes": disk.freeBytes,
                    "remedy": "leave the file where it is; free disk space to have it done sooner",
                ]
            )
        }
    }

    private func reportUnreadable(
        _ error: SQLiteError,
        _ remainder: Remainder,
        from aside: String
    ) {
        let prospect =
            error.isUnreadable
            ? "after \(Self.readAttempts) attempts, a minute apart, what still cannot be read counts as lost"
            : "the gateway tries again each minute"
        journal.warning(
            "a damaged queue that is kept aside cannot be read; its logs wait",
            [
                "reason": error, "waiting_logs": remainder.logs, "kept": aside,
                "remedy": "look at the disk; \(prospect)",
            ]
        )
    }

    private func report(_ losses: Salvage.Losses) {
        if losses.ledger {
            journal.warning(
                "how many logs were lost is not known: the ledger could not be read",
                ["remedy": "look up what sluice_logs_queued and sluice_logs_dead were last"]
            )
        }
        if losses.decisions {
            journal.warning(
                "what was decided at run time is lost, and all is as the configuration says",
                ["remedy": "look for 'changed by an operator' in the journal, and decide it again"]
            )
        }
        if losses.repeats {
            journal.warning(
                "some requests are no longer remembered: one that a device repeats may be stored twice"
            )
        }
    }
}
