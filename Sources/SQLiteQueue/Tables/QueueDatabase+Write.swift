import Logs
import Queue
import SQLite
import System

extension QueueDatabase {
    func add(_ stream: StreamRecord) throws(SQLiteError) {
        requireTransaction()
        addStream.bind(1, stream.id)
        addStream.bind(2, stream.key.destination)
        addStream.bind(3, stream.key.logstore)
        addStream.bind(4, stream.key.trailer.bytes)
        addStream.bind(5, stream.packPrefix)
        addStream.bind(6, stream.nextPack)
        addStream.bind(7, stream.checksum)
        try addStream.run()
    }

    func removeStream(_ id: Int64) throws(SQLiteError) {
        requireTransaction()
        removeStream.bind(1, id)
        try removeStream.run()
    }

    func add(_ row: RowRecord, of stream: Int64, _ payload: [UInt8]) throws(SQLiteError) {
        requireTransaction()
        addRow.bind(1, row.id)
        addRow.bind(2, stream)
        addRow.bind(3, Int64(row.logs))
        addRow.bind(4, Int64(row.raw))
        addRow.bind(5, Int64(row.size))
        addRow.bind(6, row.received.nanoseconds)
        addRow.bind(
            7,
            Checksum.of(payload, row: row.id, stream: stream, logs: row.logs, raw: row.raw)
        )
        try addRow.run(8, payload)
    }

    /// Visits a stream's rows behind `id` in order, until `visit` has enough and returns false.
    func rows(
        of stream: Int64,
        after id: Int64,
        _ visit: (RowRecord) -> Bool
    ) throws(SQLiteError) {
        waitingRows.bind(1, stream)
        waitingRows.bind(2, id)
        while try waitingRows.step() {
            let row: RowRecord
            do throws(SQLiteError) {
                row = try RowRecord(waitingRows)
            } catch {
                waitingRows.reset()
                throw error
            }
            guard visit(row) else { return waitingRows.reset() }
        }
    }

    @discardableResult
    func removeRows(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Int {
        requireTransaction()
        removeRows.bind(1, stream)
        removeRows.bind(2, rows.lowerBound)
        removeRows.bind(3, rows.upperBound)
        return try removeRows.run()
    }

    func add(_ packet: PacketRecord) throws(SQLiteError) {
        requireTransaction()
        addPacket.bind(1, packet.number)
        addPacket.bind(2, packet.stream)
        addPacket.bind(3, packet.rows.lowerBound)
        addPacket.bind(4, packet.rows.upperBound)
        addPacket.bind(5, Int64(packet.logs))
        addPacket.bind(6, Int64(packet.raw))
        addPacket.bind(7, packet.oldest.nanoseconds)
        addPacket.bind(8, packet.pack)
        bind(packet.lane, to: addPacket, 9)
        try addPacket.run()
    }

    func save(_ lane: PacketLane?, of packet: Int64) throws(SQLiteError) {
        requireTransaction()
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

    func removePacket(_ number: Int64) throws(SQLiteError) {
        requireTransaction()
        removePacket.bind(1, number)
        try removePacket.run()
    }

    func savePack(of stream: Int64, next pack: Int64) throws(SQLiteError) {
        requireTransaction()
        advancePack.bind(1, stream)
        advancePack.bind(2, pack)
        try advancePack.run()
    }

    func save(_ ledger: Ledger, of destination: String) throws(SQLiteError) {
        requireTransaction()
        saveLedger.bind(1, destination)
        saveLedger.bind(2, ledger.accepted)
        saveLedger.bind(3, ledger.delivered)
        saveLedger.bind(4, ledger.queued)
        saveLedger.bind(5, ledger.dead)
        saveLedger.bind(6, ledger.expired)
        saveLedger.bind(7, ledger.discarded)
        try saveLedger.run()
    }
}
