import Queue
import SQLite
import System

struct PacketRecord {
    let number: Int64
    let stream: Int64
    let rows: ClosedRange<Int64>
    let logs: Int
    let raw: Int
    let oldest: WallTime
    let pack: Int64
    var lane: PacketLane?
}

extension PacketRecord {
    init(_ row: Statement) throws(SQLiteError) {
        try self.init(row, lane: PacketLane(row, 8))
    }

    /// If only the lane is implausible, the packet gets another lane.
    init(mending row: Statement) throws(SQLiteError) {
        do throws(SQLiteError) {
            try self.init(row)
        } catch {
            try self.init(row, lane: .anywhere())
        }
    }

    private init(_ row: Statement, lane: PacketLane?) throws(SQLiteError) {
        self.lane = lane
        number = try row.integer(0, in: Plausible.ids)
        stream = try row.integer(1, in: Plausible.ids)
        let first = try row.integer(2, in: Plausible.ids)
        let last = try row.integer(3, in: Plausible.ids)
        guard first <= last else { throw .damage("packet \(number) ends before it begins") }
        rows = first...last
        logs = Int(try row.integer(4, in: Plausible.counts))
        raw = Int(try row.integer(5, in: Plausible.counts))
        oldest = WallTime(nanoseconds: max(0, row.integer(6)))
        pack = try row.integer(7, in: Plausible.counts)
    }
}

/// The table of sealed packets.
final class PacketTable {
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let saveLane: Statement
    private let removeOne: Statement
    private let everyOne: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        addOne = try transaction.prepare(
            "INSERT INTO packets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        saveLane = try transaction.prepare(
            "UPDATE packets SET lane_key = ?2, lane_sequence = ?3 WHERE number = ?1"
        )
        removeOne = try transaction.prepare("DELETE FROM packets WHERE number = ?")
        everyOne = try transaction.prepare("SELECT * FROM packets ORDER BY number")
    }

    func add(_ packet: PacketRecord) throws(SQLiteError) {
        addOne.bind(1, packet.number)
        addOne.bind(2, packet.stream)
        addOne.bind(3, packet.rows.lowerBound)
        addOne.bind(4, packet.rows.upperBound)
        addOne.bind(5, Int64(packet.logs))
        addOne.bind(6, Int64(packet.raw))
        addOne.bind(7, packet.oldest.nanoseconds)
        addOne.bind(8, packet.pack)
        bind(packet.lane, to: addOne, 9)
        try transaction.run(addOne)
    }

    func save(_ lane: PacketLane?, of packet: Int64) throws(SQLiteError) {
        saveLane.bind(1, packet)
        bind(lane, to: saveLane, 2)
        try transaction.run(saveLane)
    }

    private func bind(_ lane: PacketLane?, to statement: Statement, _ index: CInt) {
        guard let lane else {
            statement.bindNull(index)
            return statement.bindNull(index + 1)
        }
        statement.bind(index, lane.key.bytes)
        statement.bind(index + 1, lane.sequence)
    }

    func remove(_ number: Int64) throws(SQLiteError) {
        removeOne.bind(1, number)
        try transaction.run(removeOne)
    }

    /// All packets, in the order of sealing.
    func all() throws(SQLiteError) -> [PacketRecord] {
        defer { everyOne.reset() }
        var records: [PacketRecord] = []
        while try everyOne.step() { records.append(try PacketRecord(everyOne)) }
        return records
    }
}

/// The place of a packet's rows.
struct PacketPlace: Equatable {
    let stream: Int64
    let rows: ClosedRange<Int64>

    /// A place that no row has.
    static let unknown = PacketPlace(stream: 0, rows: 0...0)
}

extension PacketPlace {
    /// The stored form in the table of settings, which has no checksums of its own.
    var bytes: [UInt8] {
        var writer = ProvedWriter()
        for number in [stream, rows.lowerBound, rows.upperBound] { writer.add(number) }
        return writer.proved
    }

    /// Nil if the bytes are not the stored form.
    init?(_ bytes: [UInt8]) {
        guard var reader = ProvedReader(bytes), let stream = reader.number(),
            let first = reader.number(), let last = reader.number(), first <= last
        else { return nil }
        self.init(stream: stream, rows: first...last)
    }
}

/// A packet that delivery holds.
struct HandedPacket {
    /// The logstore that it was handed over for.
    let outlet: Outlet
    let shard: Shard
    let place: PacketPlace

    init(_ packet: SealedPacket) {
        outlet = packet.stream.outlet
        shard = packet.shard
        place = PacketPlace(stream: packet.streamID.number, rows: packet.rows)
    }
}

/// Collects rows of a stream into one packet: as many rows as the limits allow, at least one.
struct PacketCut {
    let limits: PacketLimits
    private(set) var rows: [Int64] = []
    private(set) var logs = 0
    private(set) var raw = 0
    private(set) var size = 0
    private(set) var oldest = WallTime(nanoseconds: .max)

    init(_ limits: PacketLimits) {
        self.limits = limits
    }

    /// Returns false if the row belongs to the next packet.
    mutating func take(_ row: RowRecord) -> Bool {
        let fits = raw + row.raw <= limits.rawBytes && logs + row.logs <= limits.logs
        guard fits || rows.isEmpty else { return false }
        rows.append(row.id)
        logs += row.logs
        raw += row.raw
        size += row.size
        oldest = min(oldest, row.received)
        return true
    }

    /// The packet. Nil without rows, or if damage shows them out of order.
    func record(number: Int64, stream: Int64, pack: Int64) -> PacketRecord? {
        guard let first = rows.first, let last = rows.last, first <= last else { return nil }
        return PacketRecord(
            number: number,
            stream: stream,
            rows: first...last,
            logs: logs,
            raw: raw,
            oldest: oldest,
            pack: pack
        )
    }
}

extension PacketLimits {
    /// For rows that already are a packet.
    static let unlimited = PacketLimits(rawBytes: .max, logs: .max)
}
