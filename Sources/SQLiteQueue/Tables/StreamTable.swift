import Logs
import Queue
import SQLite

struct StreamRecord {
    let id: Int64
    let key: StreamKey
    let packPrefix: String
    let nextPack: Int64
}

extension StreamRecord {
    init(_ row: Statement) throws(SQLiteError) {
        try self.init(row, nextPack: row.integer(5, in: Plausible.counts))
    }

    private init(_ row: Statement, nextPack: Int64) throws(SQLiteError) {
        id = try row.integer(0, in: Plausible.ids)
        key = StreamKey(
            destination: row.text(1),
            logstore: row.text(2),
            trailer: GroupTrailer(bytes: row.bytes(3))
        )
        packPrefix = row.text(4)
        self.nextPack = nextPack
        // The checksum of a record whose end is missing is NULL.
        guard !row.isNull(6), row.integer(6) == checksum else {
            throw .damage("stream \(id) has changed on the disk")
        }
    }

    /// The column `checksum`: it covers everything except the pack counter, which changes.
    var checksum: Int64 {
        var checksum = Checksum()
        checksum.add(UInt64(bitPattern: id))
        for text in [key.destination, key.logstore, packPrefix] { checksum.add(Array(text.utf8)) }
        checksum.add(key.trailer.bytes)
        return Int64(bitPattern: checksum.value)
    }
}

extension StreamRecord {
    /// If only the pack counter is implausible, it continues far behind any value that was used.
    init(mending row: Statement) throws(SQLiteError) {
        try self.init(row, nextPack: (try? row.integer(5, in: Plausible.counts)) ?? 1 << 40)
    }
}

/// The table of streams.
final class StreamTable {
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let advance: Statement
    private let removeOne: Statement
    private let everyOne: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        addOne = try transaction.prepare("INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?)")
        advance = try transaction.prepare("UPDATE streams SET next_pack = ?2 WHERE id = ?1")
        removeOne = try transaction.prepare("DELETE FROM streams WHERE id = ?")
        everyOne = try transaction.prepare("SELECT * FROM streams ORDER BY id")
    }

    func add(_ stream: StreamRecord) throws(SQLiteError) {
        addOne.bind(1, stream.id)
        addOne.bind(2, stream.key.destination)
        addOne.bind(3, stream.key.logstore)
        addOne.bind(4, stream.key.trailer.bytes)
        addOne.bind(5, stream.packPrefix)
        addOne.bind(6, stream.nextPack)
        addOne.bind(7, stream.checksum)
        try transaction.run(addOne)
    }

    func remove(_ id: Int64) throws(SQLiteError) {
        removeOne.bind(1, id)
        try transaction.run(removeOne)
    }

    func savePack(of stream: Int64, next pack: Int64) throws(SQLiteError) {
        advance.bind(1, stream)
        advance.bind(2, pack)
        try transaction.run(advance)
    }

    /// All streams, in the order of their creation.
    func all() throws(SQLiteError) -> [StreamRecord] {
        defer { everyOne.reset() }
        var records: [StreamRecord] = []
        while try everyOne.step() { records.append(try StreamRecord(everyOne)) }
        return records
    }
}
