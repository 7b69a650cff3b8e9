import Queue
import SQLite
import System

/// Finds rows and letters that are too old, and drops the rows of streams and packets.
final class RowExpiry: StreamPart {
    let streams: StreamBook
    private let packets: PacketBook
    private let waiting: WaitingRows
    private let letters: DeadLetterBook
    private var expiring: [QueuedStream] = []
    private var packetNumbers: [Int64] = []

    init(_ packets: PacketBook, _ waiting: WaitingRows, _ letters: DeadLetterBook) {
        streams = packets.streams
        self.packets = packets
        self.waiting = waiting
        self.letters = letters
    }

    var isUnderWay: Bool { !expiring.isEmpty || !packetNumbers.isEmpty || letters.hasExpired }

    /// Walks over all streams and packets for rows that are too old, unless some are in progress.
    func look() {
        guard ages.knowsTime, expiring.isEmpty else { return }
        let time = now()
        packetNumbers = packets.all.filter { isExpired($0, time) }.map(\.record.number)
        expiring = streams.every.filter { stream in
            !stream.waiting.isEmpty
                && stream.waiting.oldest + ages.ageMax(of: stream.destination) <= time
        }
    }

    /// The next packet with rows that are too old, once in each look; nil at the end.
    func nextPacket() -> Int64? { packetNumbers.popLast() }

    /// Drops such rows until the deadline, and counts them as expired, by destination.
    func expire(until deadline: Moment) throws(SQLiteError) -> [String: Int] {
        let time = now()
        var expired: [String: Int] = [:]
        while let stream = expiring.last, Moment.now < deadline {
            // Its last row, and then the stream, may have left. Then nothing else of it may be
            // used.
            guard !stream.waiting.isEmpty else {
                expiring.removeLast()
                continue
            }
            let ageMax = ages.ageMax(of: stream.destination)
            var rows = Self.expiredRowsMax
            var bytes = 0
            let logs = try waiting.drop(from: stream, &rows) { row in
                defer { bytes += row.size }
                return bytes < Self.expiredBytesMax && ages.begin(row) + ageMax <= time
            }
            if logs > 0 { expired[stream.key.destination, default: 0] += logs }
            if stream.waiting.isEmpty || stream.waiting.oldest + ageMax > time {
                expiring.removeLast()
            }
        }
        return expired
    }

    private func isExpired(_ packet: QueuedPacket, _ time: WallTime) -> Bool {
        let record = packet.record
        let oldest = ages.begin(record.oldest, number: record.rows.lowerBound)
        return oldest + ages.ageMax(of: packet.stream.destination) <= time
    }

    /// Removes rows of a packet that are too old; the others go out as a new packet. Delivery must
    /// not hold the packet. Returns the number of expired logs.
    func expire(packet number: Int64) throws(SQLiteError) -> Int {
        let time = now()
        guard let packet = packets[number], ages.knowsTime, isExpired(packet, time) else {
            return 0
        }
        let stream = packet.stream
        let ageMax = ages.ageMax(of: stream.destination)
        let old = try packets.removeRows(of: packet) { row in
            let isOld = ages.begin(row) + ageMax <= time
            if isOld { context.note(row, of: stream, .expired) }
            return isOld
        }
        guard old.logs > 0 else { return 0 }
        stream.destination.count(old.logs, old.raw, .expired)
        try streams.rest(stream)
        return old.logs
    }

    /// The bounds between two looks at the clock.
    private static let expiredRowsMax = 256
    private static let expiredBytesMax = 2 << 20
}
