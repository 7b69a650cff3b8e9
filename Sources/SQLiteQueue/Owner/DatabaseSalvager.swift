import Glibc
import Queue
import SQLite
import System

/// Replaces damaged databases and copies their readable content when there is room.
final class DatabaseSalvager {
    /// The attempts to copy more from a damaged database.
    private struct Attempts {
        var next = Moment(nanoseconds: 0)
        var readFailures = 0
    }

    private let current: CurrentConfiguration
    private let directory: DataDirectory
    private let room: DiskRoom
    let copies: DamagedCopies
    private(set) var reports: SalvageReports
    /// By file.
    private var attempts: [String: Attempts] = [:]
    private var nextSalvage = Moment(nanoseconds: 0)
    /// True if the last attempt found no room for a new database.
    private var lacksRoom = false
    /// True if indexes were rebuilt and the database was not opened since.
    private var areIndexesMended = false
    private(set) var counts = Counts()

    struct Counts {
        var salvages = 0
        var savedLogs = 0
        var lostLogs = 0
    }

    private static let readAttempts = 5
    /// A queue that copies takes and delivers nothing, so it copies larger content in steps.
    private static let savedAtOnce = 256 << 20

    init(
        _ current: CurrentConfiguration,
        in directory: DataDirectory,
        room: DiskRoom,
        _ journal: Journal
    ) {
        self.current = current
        self.directory = directory
        self.room = room
        copies = DamagedCopies(directory, room, journal)
        reports = SalvageReports(journal)
    }

    // MARK: - Damage that needs no copy

    /// Reads all pages. Returns nil if they are sound, or if they cannot be checked now.
    func damageOfPages() -> SQLiteError? {
        do throws(SQLiteError) {
            let (connection, _) = try QueueDatabase.connect(directory.database, current.value)
            let check = try connection.prepare("PRAGMA quick_check(1)")
            guard try check.step() else { return nil }
            let line = check.text(0)
            return line == "ok" ? nil : .damage(line)
        } catch {
            return error.kind == .corrupt ? error : nil
        }
    }

    /// Rebuilds the indexes if nothing else is damaged, once before the database is opened again.
    func mendIndexes(because damage: SQLiteError) -> Bool {
        guard !areIndexesMended else { return false }
        areIndexesMended = true
        do throws(SQLiteError) {
            let (connection, _) = try QueueDatabase.connect(directory.database, current.value)
            guard try IndexRepair.run(connection) == .rebuilt else { return false }
        } catch {
            return false
        }
        reports.mendedIndexes(because: damage)
        return true
    }

    func opened() { areIndexesMended = false }

    // MARK: - A new database in the place of a damaged one

    /// Moves a damaged database aside and puts a new one in its place, with as much content as
    /// there is room for. Does not copy `acknowledged` packets, whose rows lie at these places.
    func salvage(
        because damage: SQLiteError,
        acknowledged: [Int64: PacketPlace]
    ) throws(QueueError) {
        // A disk that damages fresh content would otherwise fill itself with copies.
        guard nextSalvage <= .now else { throw QueueError(damage, path: directory.database) }
        nextSalvage = .now + .seconds(60)
        let aside = try directory.linkAside(.now)
        if !lacksRoom { reports.damaged(damage, keptAs: aside) }
        do throws(SQLiteError) {
            try begin(from: aside, acknowledged)
        } catch {
            directory.removeSalvage()
            directory.unlinkAside(aside)
            lacksRoom = error.kind == .full
            guard lacksRoom else { throw QueueError(error, path: directory.salvage) }
            // Nothing was kept, and there may be room soon.
            nextSalvage = .now
            guard copies.trim(to: 0, atMost: 1, beside: nil) else {
                throw QueueError(error, path: directory.salvage)
            }
            return try salvage(because: damage, acknowledged: acknowledged)
        }
        lacksRoom = false
        try directory.replaceDamaged()
        counts.salvages += 1
        copies.trim(to: DataDirectory.damagedCopiesMax, beside: nil)
    }

    /// Tries again after a pause, because a read error may pass. The last attempt continues without
    /// the unreadable content: a bad sector must not keep the queue from opening.
    private func begin(
        from aside: String,
        _ acknowledged: [Int64: PacketPlace]
    ) throws(SQLiteError) {
        var pause = current.tuning.retryMin
        for _ in 1..<Self.readAttempts {
            do throws(SQLiteError) {
                return try begin(from: aside, acknowledged, isLast: false)
            } catch  where error.isUnreadable {
                usleep(useconds_t(pause / .microseconds(1)))
                pause = min(pause * 2, current.tuning.retryMax)
            }
        }
        try begin(from: aside, acknowledged, isLast: true)
    }

    private func begin(
        from aside: String,
        _ acknowledged: [Int64: PacketPlace],
        isLast: Bool
    ) throws(SQLiteError) {
        directory.removeSalvage()
        let (connection, _) = try QueueDatabase.connect(directory.salvage, current.value)
        let saved = try QueueDatabase(connection, path: directory.salvage)
        let noted = directory.notedRemainders(besides: aside)
        if var salvage = try openDamaged(aside, into: saved, isLast: isLast) {
            try salvage.begin(acknowledged: acknowledged, noted: noted)
            reports.lost(salvage.losses)
            directory.note(salvage.remainder)
            // After the last attempt the queue is open; packets and rows get attempts of their own.
            if !isLast { try copy(&salvage, from: aside, atMost: Self.savedAtOnce) }
        } else {
            try saved.write()
            for earlier in noted { try saved.adopt(earlier) }
            try saved.commit()
            reports.lost(Salvage.Losses(ledger: true, repeats: true, decisions: true))
        }
        try connection.finish()
        directory.removeIndex(of: aside)
    }

    /// Nil if nothing is readable. The file then stays marked: an expert may be able to read it.
    private func openDamaged(
        _ aside: String,
        into saved: QueueDatabase,
        isLast: Bool
    ) throws(SQLiteError) -> Salvage? {
        let file = DamagedFile(aside, skippingUnreadable: isLast)
        let name = directory.name(of: aside)
        do throws(SQLiteError) {
            let damaged = try Connection(aside, .readWrite)
            let highest = try Salvage.highest(damaged, in: file)
            let remainder = Remainder(of: name, upTo: highest)
            return try Salvage(from: damaged, in: file, into: saved, current.value, remainder)
        } catch  where error.isDamage {
            return nil
        } catch  where isLast && error.isUnreadable {
            // The first page is unreadable. The queue begins empty and tries to copy each minute.
            let remainder = Remainder(of: name, upTo: Salvage.unknownHighest)
            try saved.beginWithout(remainder)
            directory.note(remainder)
            return nil
        }
    }

    // MARK: - What did not fit

    /// Copies more of a damaged database after space was freed. Returns true if anything changed;
    /// the store then has to be read again.
    func copyMore(into store: OpenStore) throws(SQLiteError) -> Bool {
        guard let remainder = store.acknowledgements.remainders.first(where: mayCopy) else {
            return false
        }
        let fits = try room.bytesToSave(in: store.database, current.tuning)
        let most = min(Self.savedAtOnce, current.value.bytesMax - store.weight.bytes)
        guard isEnough(min(fits, most), for: store) else {
            reports.waiting(store.acknowledgements.remainders, freeBytes: room.freeBytes)
            return false
        }
        let rest = try copy(remainder, into: store.database, atMost: most)
        // If not even one more row fits, an immediate attempt has no chance.
        if rest == remainder { postpone(remainder, for: .seconds(1)) }
        return true
    }

    /// True if the room is worth reopening the store, which then reads all its rows.
    private func isEnough(_ room: Int, for store: OpenStore) -> Bool {
        let wanted = max(1 << 20, min(64 << 20, store.files.databaseBytes / 2))
        return room >= wanted || (room > 0 && store.weight.rows == 0)
    }

    private func mayCopy(_ remainder: Remainder) -> Bool {
        attempts[remainder.file].map { $0.next <= .now } ?? true
    }

    private func postpone(_ remainder: Remainder, for pause: Duration) {
        let before = attempts[remainder.file]?.next ?? Moment(nanoseconds: 0)
        attempts[remainder.file, default: Attempts()].next = max(before, .now + pause)
    }

    /// The earliest time of the next attempt to copy from the file. Nil if it may begin now.
    func nextAttempt(of file: String) -> Moment? { attempts[file]?.next }

    /// Tests do not wait for the next attempts.
    func resetAttempts() { attempts = [:] }

    private func copy(
        _ remainder: Remainder,
        into saved: QueueDatabase,
        atMost most: Int
    ) throws(SQLiteError) -> Remainder {
        let aside = "\(directory.path)/\(remainder.file)"
        guard access(aside, F_OK) == 0 || errno != ENOENT else {
            directory.unmark(aside)
            let lost = try Salvage.finish(remainder, in: saved)
            finished(lost: lost, remainder, from: aside)
            return Remainder(of: remainder.file, upTo: 0)
        }
        let readFailures = attempts[remainder.file]?.readFailures ?? 0
        guard let damaged = try? Connection(aside, .readWrite),
            var salvage = try? Salvage(
                from: damaged,
                in: DamagedFile(aside, skippingUnreadable: readFailures >= Self.readAttempts),
                into: saved,
                current.value,
                remainder
            )
        else {
            reports.cannotOpen(aside)
            postpone(remainder, for: current.tuning.asideRetry)
            return remainder
        }
        try copy(&salvage, from: aside, atMost: most)
        return salvage.remainder
    }

    private func copy(
        _ salvage: inout Salvage,
        from aside: String,
        atMost most: Int
    ) throws(SQLiteError) {
        let before = salvage.remainder
        let saved = salvage.saved
        let tuning = current.tuning
        var rest = most
        let outcome = try salvage.copy { () throws(SQLiteError) in
            let fits = min(try room.bytesToSave(in: saved, tuning), rest)
            rest -= min(fits, tuning.transactionBytes)
            return fits
        } whenAllIsCopied: {
            directory.unmark(aside)
        }
        let remainder = salvage.remainder
        if case .done = outcome {
            directory.clearNote(of: remainder.file)
        } else {
            directory.note(remainder)
        }
        counts.savedLogs += Int(remainder.savedLogs - before.savedLogs)
        if let error = salvage.file.readError, outcome == .unreadable {
            attempts[remainder.file, default: Attempts()].readFailures += 1
            postpone(remainder, for: tuning.asideRetry)
            reports.cannotRead(error, remainder, from: aside, attempts: Self.readAttempts)
            return
        }
        // After a skip and then no room, attempts count on until a step gets past that place.
        let isBehind = (remainder.phase, remainder.through) != (before.phase, before.through)
        if isBehind || !salvage.file.hasSkipped { attempts[remainder.file] = nil }
        switch outcome {
        case .done(let lost): finished(lost: lost, remainder, from: aside)
        case .noRoom: reports.noRoom(for: remainder, from: aside, freeBytes: room.freeBytes)
        case .unreadable: break
        }
    }

    private func finished(lost: Int64, _ remainder: Remainder, from aside: String) {
        counts.lostLogs += Int(lost)
        reports.done(lost: lost, remainder, from: aside)
    }
}
