import Queue
import SQLite
import System

/// What a shard has left when its logs are gone: dead letters, remembered requests, ledgers and a
/// tally. Read from its scratch database, which no queue uses any more.
final class ShardRemains {
    private static let lettersAtOnce = 1000
    private static let letterBytesAtOnce = 4 << 20
    private static let requestsAtOnce = 5000

    private let connection: Connection
    private let letters: DeadQueries
    private let requests: Statement

    init(in directory: DataDirectory) throws(SQLiteError) {
        connection = try Connection(directory.database, .readOnly)
        try Pragmas.reader(connection)
        let version = Int(try connection.integer("PRAGMA user_version"))
        guard version == QueueSchema.migrations.count else {
            throw .newerSchema(version, known: QueueSchema.migrations.count)
        }
        letters = try DeadQueries(connection)
        requests = try connection.prepare(
            "SELECT * FROM repeats WHERE number > ? ORDER BY number LIMIT ?"
        )
    }

    /// The next letters behind this number, and the number to go on with; nil: there are no more.
    func letters(after number: Int64) throws(SQLiteError) -> ([StoredLetter], next: Int64?) {
        var portion = DeadQueries.Portion(
            letters: Self.lettersAtOnce,
            bytes: Self.letterBytesAtOnce
        )
        let end = try letters.letters(matching: DeadLetterFilter(), after: number) {
            portion.take($0)
        }
        guard portion.letters.allSatisfy(\.isIntact) else {
            throw .damage("a dead letter has changed on the disk")
        }
        return (portion.letters, end.isLast ? nil : end.position)
    }

    /// The same for remembered requests.
    func requests(after number: Int64) throws(SQLiteError) -> ([RepeatRecord], next: Int64?) {
        requests.bind(1, number)
        requests.bind(2, Int64(Self.requestsAtOnce))
        var found: [RepeatRecord] = []
        while try requests.step() { found.append(try RepeatRecord(requests)) }
        return (found, found.count < Self.requestsAtOnce ? nil : found.last?.number)
    }

    /// The ledgers and the tally without the dead letters, which are taken over one by one.
    func sums() throws(SQLiteError) -> ([String: Ledger], IntakeTally) {
        let all = try connection.prepare("SELECT * FROM ledger")
        defer { all.reset() }
        var ledgers: [String: Ledger] = [:]
        var sum = Ledger()
        while try all.step() {
            let ledger = Ledger(all)
            guard ledger.isPlausible, ledger.isClosed, ledger.queued == 0 else {
                throw .damage("a ledger cannot be \(ledger)")
            }
            ledgers[all.text(0)] = ledger.withoutDead
            sum = sum + ledger
        }
        var tally = try IntakeTable.sums(connection) ?? IntakeTally()
        tally.settle(with: sum)
        tally -= IntakeTally(logs: Int(sum.dead))
        return (ledgers, tally)
    }
}
