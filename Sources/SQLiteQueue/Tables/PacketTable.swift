import Queue
import SQLite
import System

/// The table of sealed packets.
final class PacketTable {
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let saveLane: Statement
    private let removeOne: Statement
    private let everyOne: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        addOne = try connection.prepare("INSERT INTO packets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        saveLane = try connection.prepare(
            "UPDATE packets SET lane_key = ?2, lane_sequence = ?3 WHERE number = ?1"
        )
        removeOne = try connection.prepare("DELETE FROM packets WHERE number = ?")
        everyOne = try connection.prepare("SELECT * FROM packets ORDER BY number")
    }

    func add(_ packet: PacketRecord) throws(SQLiteError) {
        transaction.require()
        addOne.bind(1, packet.number)
        addOne.bind(2, packet.stream)
        addOne.bind(3, packet.rows.lowerBound)
        addOne.bind(4, packet.rows.upperBound)
        addOne.bind(5, Int64(packet.logs))
        addOne.bind(6, Int64(packet.raw))
        addOne.bind(7, packet.oldest.nanoseconds)
        addOne.bind(8, packet.pack)
        bind(packet.lane, to: addOne, 9)
        try addOne.run()
    }

    func save(_ lane: PacketLane?, of packet: Int64) throws(SQLiteError) {
        transaction.require()
        saveLane.bind(1, packet)
        bind(lane, to: saveLane, 2)
        try saveLane.run()
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
        transaction.require()
        removeOne.bind(1, number)
        try removeOne.run()
    }

    /// All packets, in the order of sealing.
    func all() throws(SQLiteError) -> [PacketRecord] {
        defer { everyOne.reset() }
        var records: [PacketRecord] = []
        while try everyOne.step() { records.append(try PacketRecord(everyOne)) }
        return records
    }
}
