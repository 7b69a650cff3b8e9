import Logs
import Queue
import SQLite
import System

extension OpenStore {
    /// Makes a log of the stream, one entry, a dead letter. Where it was counted before is the caller's to
    /// change.
    func bury(
        _ log: [UInt8],
        of stream: StreamKey,
        received: WallTime,
        because reason: DeathReason
    ) throws(SQLiteError) {
        let record = DeadRecord(
            id: try ids.take(database),
            stream: stream,
            received: received,
            died: now(),
            reason: reason,
            log: log
        )
        try database.write()
        try database.dead.add(record)
        let destination = destination(stream.destination)
        deadSums.add(
            DeadLetterSum(
                destination: stream.destination,
                code: record.reason.code,
                letters: 1,
                bytes: record.cost,
                latest: record.died
            )
        )
        count(destination, letters: 1, cost: record.cost)
        destination.change { $0.dead += 1 }
        destination.volumes.dead += record.raw
        destination.volumes.died += 1
    }

    /// Each entry of the logs. Returns how many there were.
    @discardableResult
    func bury(
        entriesOf logs: EncodedLogs,
        of stream: StreamKey,
        received: WallTime,
        because reason: DeathReason
    ) throws(SQLiteError) -> Int {
        // What cannot be told apart would be a mistake of ours in encoding it, and is
        // kept as one.
        let entries = (try? logs.pieces(atMost: .max, logs: 1)) ?? [logs]
        for entry in entries {
            try bury(entry.bytes, of: stream, received: received, because: reason)
        }
        return entries.count
    }

    /// Counts the logs of a batch that are not to be queued: accepted, and dead or discarded at once.
    func forgo(_ batch: Batch) throws(SQLiteError) {
        let destination = destination(batch.stream.destination)
        let time = now()
        var dead = 0
        for logs in batch.dead {
            dead += try bury(
                entriesOf: logs.logs,
                of: batch.stream,
                received: time,
                because: logs.reason
            )
        }
        reserve(-Self.mostDead(batch), destination)
        try database.write()
        destination.change { ledger in
            ledger.accepted += Int64(dead + batch.dropped)
            ledger.discarded += Int64(batch.dropped)
        }
        destination.volumes.accepted += batch.dead.reduce(0) { $0 + $1.logs.bytes.count }
    }

    /// Takes a dead letter out. Where it is counted from now on is the caller's to change. False when it is
    /// not there.
    func exhume(_ letter: StoredLetter) throws(SQLiteError) -> Bool {
        try database.write()
        guard try database.dead.remove(letter.record.id) else { return false }
        let name = letter.record.stream.destination
        let code = letter.record.reason.code
        // A name may be what changed on the disk; then nobody knows whose it was.
        guard let bytes = deadSums.remove(name, code, bytes: letter.cost) else {
            throw .damage("dead letter \(letter.record.id) belongs to none that are known")
        }
        let destination = destination(name)
        count(destination, letters: -1, cost: -bytes)
        destination.change { $0.dead -= 1 }
        return true
    }

    /// Counts dead letters that came, or with negative numbers left.
    func count(_ destination: QueuedDestination, letters: Int, cost: Int) {
        destination.deadLetters += letters
        destination.deadBytes += cost
        weigh(destination, bytes: cost)
    }
}
