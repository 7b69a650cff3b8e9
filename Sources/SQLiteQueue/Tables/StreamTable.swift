import Logs
import Queue
import SQLite

/// The table of streams.
final class StreamTable {
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let advance: Statement
    private let removeOne: Statement
    private let everyOne: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        addOne = try connection.prepare("INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?)")
        advance = try connection.prepare("UPDATE streams SET next_pack = ?2 WHERE id = ?1")
        removeOne = try connection.prepare("DELETE FROM streams WHERE id = ?")
        everyOne = try connection.prepare("SELECT * FROM streams ORDER BY id")
    }

    func add(_ stream: StreamRecord) throws(SQLiteError) {
        transaction.require()
        addOne.bind(1, stream.id)
        addOne.bind(2, stream.key.destination)
        addOne.bind(3, stream.key.logstore)
        addOne.bind(4, stream.key.trailer.bytes)
        addOne.bind(5, stream.packPrefix)
        addOne.bind(6, stream.nextPack)
        addOne.bind(7, stream.checksum)
        try addOne.run()
    }

    func remove(_ id: Int64) throws(SQLiteError) {
        transaction.require()
        removeOne.bind(1, id)
        try removeOne.run()
    }

    func savePack(of stream: Int64, next pack: Int64) throws(SQLiteError) {
        transaction.require()
        advance.bind(1, stream)
        advance.bind(2, pack)
        try advance.run()
    }

    /// All streams, in the order of their creation.
    func all() throws(SQLiteError) -> [StreamRecord] {
        defer { everyOne.reset() }
        var records: [StreamRecord] = []
        while try everyOne.step() { records.append(try StreamRecord(everyOne)) }
        return records
    }
}
