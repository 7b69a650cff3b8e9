import Queue
import SQLite
import System

// What was sealed and never delivered grows old as what waits does: a logstore that does not exist would else keep
// its logs, and its place among the destination's logstores, for ever.
extension OpenStore {
    /// Whether its oldest row has waited longer than the operator allows.
    func isExpired(_ packet: QueuedPacket, _ time: WallTime) -> Bool {
        let record = packet.record
        let oldest = begin(record.oldest, number: record.rows.lowerBound)
        return oldest + ageMax(of: packet.stream.destination) <= time
    }

    /// Removes rows of a packet that are too old, and counts them as expired; the others go out as a new one.
    /// Delivery must not hold it. Returns the number of their logs.
    func expire(packet number: Int64) throws(SQLiteError) -> Int {
        let time = now()
        guard let packet = packets[number], knowsTime, isExpired(packet, time) else { return 0 }
        let stream = packet.stream
        let ageMax = ageMax(of: stream.destination)
        let old = try removeRows(of: packet) { begin($0) + ageMax <= time }
        guard old.logs > 0 else { return 0 }
        stream.destination.change { ledger in
            ledger.expired += Int64(old.logs)
            ledger.queued -= Int64(old.logs)
        }
        stream.destination.volumes.expired += old.raw
        try rest(stream)
        return old.logs
    }
}
