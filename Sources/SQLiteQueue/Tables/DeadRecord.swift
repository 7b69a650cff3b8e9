import Logs
import Queue
import SQLite
import System

/// A dead letter as it is stored.
struct DeadRecord {
    private(set) var id: Int64
    let stream: StreamKey
    let received: WallTime
    let died: WallTime
    let reason: DeathReason
    /// How often the log was replayed before.
    let replays: Int
    /// Bytes of the log before compression.
    let raw: Int
    /// The log. It is compressed if that makes it smaller; then it has less than `raw` bytes.
    let payload: [UInt8]

    /// Smaller logs gain little from compression.
    private static let compressedFrom = 512
    /// SLS's messages have some hundred bytes, but a proxy's page may have any number.
    private static let messageBytesMax = 1024
    private static let nameBytesMax = 128

    init(
        id: Int64,
        stream: StreamKey,
        received: WallTime,
        died: WallTime,
        reason: DeathReason,
        replays: Int,
        log: [UInt8]
    ) {
        self.id = id
        self.stream = stream
        self.received = received
        self.died = died
        self.reason = DeathReason(
            code: reason.code.prefix(bytes: Self.nameBytesMax),
            message: reason.message.prefix(bytes: Self.messageBytesMax),
            requestID: reason.requestID?.prefix(bytes: Self.nameBytesMax),
            status: reason.status
        )
        self.replays = replays
        raw = log.count
        payload = Self.payload(of: log)
    }

    /// The same letter under another number.
    func numbered(_ id: Int64) -> DeadRecord {
        var record = self
        record.id = id
        return record
    }

    private static func payload(of log: [UInt8]) -> [UInt8] {
        let compressed = log.count > compressedFrom ? LZ4.compress(log) : log
        return compressed.count < log.count ? compressed : log
    }

    /// The letter's weight in the bounds.
    var cost: Int { Self.overhead(of: stream, reason) + payload.count }

    /// The cost of a dead letter besides its log.
    static func overhead(of stream: StreamKey, _ reason: DeathReason) -> Int {
        RowRecord.overhead + stream.trailer.bytes.count + stream.destination.utf8.count
            + stream.logstore.utf8.count + min(reason.code.utf8.count, nameBytesMax)
            + min(reason.message.utf8.count, messageBytesMax)
            + min(reason.requestID?.utf8.count ?? 0, nameBytesMax)
    }

    /// The cost that a log will have as a dead letter.
    static func cost(of log: [UInt8], _ stream: StreamKey, _ reason: DeathReason) -> Int {
        overhead(of: stream, reason) + payload(of: log).count
    }

    var checksum: Int64 {
        var checksum = Checksum()
        let numbers = [id, received.nanoseconds, died.nanoseconds, Int64(reason.status ?? 0)]
        for number in numbers + [Int64(raw)] { checksum.add(UInt64(bitPattern: number)) }
        let texts = [stream.destination, stream.logstore, reason.code, reason.message]
        for text in texts + [reason.requestID ?? ""] {
            Array(text.utf8).withUnsafeBytes { checksum.add($0) }
        }
        for bytes in [stream.trailer.bytes, payload] {
            bytes.withUnsafeBytes { checksum.add($0) }
        }
        if replays != 0 { checksum.add(UInt64(bitPattern: Int64(replays))) }
        return Int64(bitPattern: checksum.value)
    }

    // MARK: - From the current row of a statement that has `columns`

    /// The payload comes last, so that the other columns never lie on its overflow pages.
    static let columns = """
        id, destination, logstore, trailer, received, died, status, code, message, request_id,
        raw, cost, checksum, payload, replays
        """

    init(_ row: Statement) {
        id = row.integer(0)
        stream = StreamKey(
            destination: row.text(1),
            logstore: row.text(2),
            trailer: GroupTrailer(bytes: row.bytes(3))
        )
        received = WallTime(nanoseconds: row.integer(4))
        died = WallTime(nanoseconds: row.integer(5))
        let status = Int(row.integer(6))
        let requestID = row.text(9)
        reason = DeathReason(
            code: row.text(7),
            message: row.text(8),
            requestID: requestID.isEmpty ? nil : requestID,
            status: status == 0 ? nil : status
        )
        raw = Int(row.integer(10))
        payload = row.bytes(13)
        replays = Int(row.integer(14))
    }

    /// The log. Nil if its bytes cannot be the stored ones.
    var log: EncodedLogs? {
        guard payload.count < raw else { return EncodedLogs(bytes: payload, count: 1) }
        guard let bytes = try? LZ4.decompress(payload, rawBytes: raw) else { return nil }
        return EncodedLogs(bytes: bytes, count: 1)
    }
}

/// A dead letter that was read back.
struct StoredLetter {
    let record: DeadRecord
    /// True if all of it is what was stored.
    let isIntact: Bool

    init(_ row: Statement) {
        record = DeadRecord(row)
        let cost = row.integer(11)
        isIntact = record.checksum == row.integer(12) && Int64(record.cost) == cost
        // A letter that changed on the disk no longer tells its cost. The stored cost does.
        self.cost = Plausible.rowCounts.contains(cost) ? Int(cost) : record.cost
    }

    /// A letter that was just written.
    init(_ record: DeadRecord) {
        self.record = record
        isIntact = true
        cost = record.cost
    }

    /// The cost that the bounds counted for it.
    let cost: Int
    /// Its memory when it is read and decompressed.
    var bytes: Int { cost + (isIntact ? record.raw : 0) }

    /// The log's bytes before compression, if they are known.
    var raw: Int { isIntact ? record.raw : record.payload.count }

    var log: EncodedLogs? { isIntact ? record.log : nil }

    func letter(of shard: Shard) -> DeadLetter {
        DeadLetter(
            id: shard.letterID(record.id),
            stream: record.stream,
            received: record.received,
            died: record.died,
            reason: record.reason,
            replays: record.replays,
            cost: cost,
            log: log
        )
    }
}
