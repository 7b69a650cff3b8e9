import Logs
import Queue
import SQLite
import System

/// The dead letters: logs that cannot be delivered unchanged.
final class DeadLetterBook: StreamPart {
    let streams: StreamBook
    private var sums = DeadSums()
    /// True if there may be letters that are too old.
    var hasExpired = false

    init(_ streams: StreamBook) {
        self.streams = streams
    }

    // MARK: - Coming and going

    /// Makes one log a dead letter; the caller removes it from its count. Returns the id outside of
    /// the shard.
    @discardableResult
    func addLetter(
        _ log: [UInt8],
        of stream: StreamKey,
        received: WallTime,
        because reason: DeathReason,
        replays: Int
    ) throws(SQLiteError) -> Int64 {
        let record = DeadRecord(
            id: try context.takeNumber(),
            stream: stream,
            received: received,
            died: now(),
            reason: reason,
            replays: replays,
            log: log
        )
        let destination = try add(record)
        destination.volumes.dead += record.raw
        destination.volumes.died += 1
        return configuration.shard.letterID(record.id)
    }

    /// Takes over a letter of another shard, which counts as accepted here.
    func adopt(_ letter: StoredLetter) throws(SQLiteError) {
        let destination = try add(letter.record.numbered(try context.takeNumber()))
        destination.change { $0.accepted += 1 }
    }

    private func add(_ record: DeadRecord) throws(SQLiteError) -> QueuedDestination {
        try database.write()
        try database.dead.add(record)
        let destination = destinations.named(record.stream.destination)
        count(record, in: destination, letters: 1, bytes: record.cost)
        destination.change { $0.dead += 1 }
        return destination
    }

    private func count(
        _ record: DeadRecord,
        in destination: QueuedDestination,
        letters: Int,
        bytes: Int
    ) {
        sums.add(
            DeadLetterSum(
                destination: destination.name,
                code: record.reason.code,
                letters: letters,
                bytes: bytes,
                latest: record.died
            )
        )
        count(destination, letters: letters, cost: bytes)
    }

    /// Makes each entry of the logs a dead letter. Returns the ids of the letters.
    func addLetters(
        entriesOf logs: EncodedLogs,
        of stream: StreamKey,
        received: WallTime,
        because reason: DeathReason,
        replays: Int
    ) throws(SQLiteError) -> [Int64] {
        // If entries cannot be separated, our own encoding is wrong, and they stay together as one.
        let entries = (try? logs.pieces(atMost: .max, logs: 1)) ?? [logs]
        var ids: [Int64] = []
        for entry in entries {
            ids.append(
                try addLetter(
                    entry.bytes,
                    of: stream,
                    received: received,
                    because: reason,
                    replays: replays
                )
            )
        }
        return ids
    }

    /// Counts logs that do not enter the queue: accepted, and dead or discarded at once.
    func countUnqueued(_ batch: Batch) throws(SQLiteError) {
        let destination = destinations.named(batch.stream.destination)
        let time = now()
        var dead = 0
        for logs in batch.dead {
            let ids = try addLetters(
                entriesOf: logs.logs,
                of: batch.stream,
                received: time,
                because: logs.reason,
                replays: 0
            )
            dead += ids.count
            batch.track?.add(letters: ids)
        }
        batch.track?.add(dropped: batch.dropped)
        weight.reserve(-Self.mostDead(batch), destination)
        try database.write()
        destination.change { ledger in
            ledger.accepted += Int64(dead + batch.dropped)
            ledger.discarded += Int64(batch.dropped)
        }
        destination.volumes.accepted += batch.dead.reduce(0) { $0 + $1.logs.bytes.count }
    }

    /// Takes a letter out; the caller counts it elsewhere. Returns false if it is not there.
    func takeOut(_ letter: StoredLetter) throws(SQLiteError) -> Bool {
        try database.write()
        guard try database.dead.remove(letter.record.id) else { return false }
        let name = letter.record.stream.destination
        let code = letter.record.reason.code
        // The name itself may have changed on the disk. Then the destination is unknown.
        guard let bytes = sums.remove(name, code, bytes: letter.cost) else {
            throw .damage("dead letter \(letter.record.id) belongs to none that are known")
        }
        let destination = destinations.named(name)
        count(destination, letters: -1, cost: -bytes)
        destination.change { $0.dead -= 1 }
        return true
    }

    /// Counts dead letters that came, or, with negative numbers, that left.
    func count(_ destination: QueuedDestination, letters: Int, cost: Int) {
        destination.deadLetters += letters
        destination.deadBytes += cost
        weight.weigh(destination, bytes: cost)
    }

    /// Dead letters are written at once, so this is their real weight.
    static func mostDead(_ batch: Batch) -> Int {
        batch.dead.reduce(0) { sum, dead in
            let each = DeadRecord.overhead(of: batch.stream, dead.reason)
            return sum + dead.logs.bytes.count + dead.logs.count * each
        }
    }

    /// The sums by destination and code. Nil if nothing changed since the last call.
    func takeChangedSums() -> [DeadLetterSum]? {
        guard sums.haveChanged else { return nil }
        sums.haveChanged = false
        return sums.sorted
    }

    // MARK: - Changes by operators

    func purge(_ letters: [StoredLetter]) throws(SQLiteError) -> LetterStep {
        var step = LetterStep()
        for letter in letters {
            guard try takeOut(letter) else { continue }
            let name = letter.record.stream.destination
            destinations.named(name).change { $0.discarded += 1 }
            destinations.named(name).volumes.discarded += letter.raw
            step.count(name, to: \.discarded)
        }
        return step
    }

    /// Takes the letters' room away, or gives it back: staged replays need no additional room.
    func weigh(_ letters: [StoredLetter], sign: Int) {
        for letter in letters {
            weight.weigh(
                destinations.named(letter.record.stream.destination),
                bytes: sign * letter.cost
            )
        }
    }

    /// The most that SLS takes in one request, so no other log would fit.
    static let letterBytesMax = 10 << 20

    func replace(
        _ id: Int64,
        with edit: DeadLetterEdit
    ) throws(SQLiteError) -> DeadLetterEditOutcome {
        guard let old = try database.dead.queries.letter(id) else { return .notFound }
        guard let log = Self.edited(old.letter(of: configuration.shard), edit) else {
            return .unreadable
        }
        guard log.count <= Self.letterBytesMax else {
            return .tooLarge(bytesMax: Self.letterBytesMax)
        }
        let stream = old.record.stream
        if let logstore = configuration.rules(stream.destination).logstore,
            let wanted = edit.logstore, wanted != logstore
        {
            return .otherLogstore(logstore)
        }
        let record = DeadRecord(
            id: id,
            stream: StreamKey(
                destination: stream.destination,
                logstore: edit.logstore ?? stream.logstore,
                trailer: edit.trailer ?? stream.trailer
            ),
            received: old.record.received,
            died: old.record.died,
            reason: old.record.reason,
            replays: old.record.replays,
            log: log
        )
        let destination = destinations.named(stream.destination)
        let more = record.cost - old.cost
        if more > 0, let refusal = weight.refusal(destination, more: more, margins: false) {
            return .refused(refusal)
        }
        try database.write()
        try database.dead.replace(with: record)
        count(record, in: destination, letters: 0, bytes: more)
        return .replaced(StoredLetter(record).letter(of: configuration.shard))
    }

    private static func edited(_ letter: DeadLetter, _ edit: DeadLetterEdit) -> [UInt8]? {
        if edit.time == nil, edit.fields == nil { return letter.log?.bytes }
        let content = letter.content
        guard let time = edit.time ?? content?.time,
            let fields = edit.fields ?? content?.fields
        else { return nil }
        var log = EncodedLogs()
        log.append(time: time, fields: fields)
        return log.bytes
    }

    // MARK: - Expiry

    /// Drops dead letters that are too old, at most `most`, and counts them as expired. Returns
    /// their number by destination. `hasExpired` tells if there are more.
    func expire(atMost most: Int = 250) throws(SQLiteError) -> [String: Int] {
        hasExpired = false
        guard ages.knowsTime else { return [:] }
        let due = now() - configuration.deadLetterAgeMax
        var portion = DeadQueries.Portion(letters: most, bytes: 4 << 20)
        // As for rows, see `begin`: the age of content with another clock's stamps began with this
        // clock at the latest, and stamps of a clock that was not set say nothing.
        let isAnyInherited = ages.basis.since <= due
        if isAnyInherited {
            let all = DeadLetterFilter()
            _ = try database.dead.queries.letters(
                matching: all,
                after: 0,
                through: ages.basis.inherited
            ) {
                portion.take($0)
            }
        }
        let first = isAnyInherited ? WallTime(nanoseconds: .min) : AgeBook.leastTime
        if first <= due, !portion.isFull {
            try database.dead.letters(
                diedIn: first...due,
                inherited: isAnyInherited ? ages.basis.inherited : ages.basis.steppedThrough,
                inheritedUntil: isAnyInherited
                    ? WallTime(nanoseconds: .min) : due - ages.basis.stepped
            ) { portion.take($0) }
        }
        hasExpired = portion.isFull
        var expired: [String: Int] = [:]
        for letter in portion.letters {
            guard try takeOut(letter) else { continue }
            let name = letter.record.stream.destination
            destinations.named(name).change { $0.expired += 1 }
            destinations.named(name).volumes.expired += letter.raw
            expired[name, default: 0] += 1
        }
        return expired
    }

    // MARK: - Start

    func recover() throws(SQLiteError) {
        for sum in try database.dead.sums() {
            sums.add(sum)
            count(destinations.named(sum.destination), letters: sum.letters, cost: sum.bytes)
            try weight.check()
        }
    }
}

/// The result of one step of a replay or a purge.
struct LetterStep {
    var changed = 0
    var unreadable = 0
    var effects: [String: Ledger] = [:]
    /// The reason why there was no room for the letters of this step.
    var refusal: QueueAdmission?

    mutating func count(_ destination: String, to account: WritableKeyPath<Ledger, Int64>) {
        changed += 1
        effects[destination, default: Ledger()].dead -= 1
        effects[destination, default: Ledger()][keyPath: account] += 1
    }
}

extension WallTime {
    /// Saturates. Durations here are not negative.
    fileprivate static func - (time: WallTime, duration: Duration) -> WallTime {
        let (seconds, attoseconds) = duration.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (rest, isTooEarly) = time.nanoseconds.subtractingReportingOverflow(whole)
        // An age without end stays without end.
        guard !isTooLong, !isTooEarly else { return WallTime(nanoseconds: .min) }
        return WallTime(nanoseconds: rest &- attoseconds / 1_000_000_000)
    }
}

/// The number of dead letters by destination and code, kept while letters come and go.
struct DeadSums {
    private struct Reason: Hashable {
        let destination: String
        let code: String
    }

    private var byReason: [Reason: DeadLetterSum] = [:]
    /// True if the sums changed since the last look.
    var haveChanged = false

    /// Sorted by destination, then by code.
    var sorted: [DeadLetterSum] {
        byReason.values.sorted { ($0.destination, $0.code) < ($1.destination, $1.code) }
    }

    mutating func add(_ sum: DeadLetterSum) {
        let reason = Reason(destination: sum.destination, code: sum.code)
        byReason[reason, default: DeadLetterSum(none: sum)].add(sum)
        haveChanged = true
    }

    /// Removes one letter. Returns the bytes that leave with it, or nil if none is known. Its own
    /// size may have changed on the disk, so the last letter takes all counted bytes with it.
    mutating func remove(_ destination: String, _ code: String, bytes: Int) -> Int? {
        let reason = Reason(destination: destination, code: code)
        guard let left = byReason[reason] else { return nil }
        haveChanged = true
        guard left.letters > 1 else {
            byReason[reason] = nil
            return left.bytes
        }
        byReason[reason]?.letters -= 1
        byReason[reason]?.bytes -= bytes
        return bytes
    }
}

extension DeadLetterSum {
    fileprivate init(none other: DeadLetterSum) {
        self.init(
            destination: other.destination,
            code: other.code,
            letters: 0,
            bytes: 0,
            latest: other.latest
        )
    }

    fileprivate mutating func add(_ other: DeadLetterSum) {
        letters += other.letters
        bytes += other.bytes
        latest = max(latest, other.latest)
    }
}
