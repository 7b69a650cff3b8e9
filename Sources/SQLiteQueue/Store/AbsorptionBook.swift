import Queue
import SQLite

/// How shards become one: an empty shard is *ceded* to another one, which *absorbs* what it has
/// left.
///
/// The absorbing shard notes its intent first. Then the other one is ceded, its last transaction.
/// The absorbing shard takes the remains over in steps and notes its progress in the same
/// transactions, so after any crash the next owner of both can go on. The last step adds the
/// ledgers; only then may the ceded shard's log be removed.
final class AbsorptionBook: StreamPart {
    enum Stage: Equatable {
        /// Dead letters behind this number.
        case letters(after: Int64)
        /// Remembered requests behind this number.
        case requests(after: Int64)
        /// Nothing more: the other shard's log can be removed.
        case done
    }

    static let prefix = "absorption/"
    static let cededName = "ceded_to"

    let streams: StreamBook
    private let letters: DeadLetterBook
    private let repeats: RepeatMemory
    private let tally: TallyBook
    /// Of shards that are absorbed here, by their names.
    private(set) var stages: [String: Stage] = [:]
    /// The shard that absorbs this one; nil: none does. Nothing here changes any more.
    private(set) var cededTo: String?

    init(_ letters: DeadLetterBook, _ repeats: RepeatMemory, _ tally: TallyBook) {
        streams = letters.streams
        self.letters = letters
        self.repeats = repeats
        self.tally = tally
    }

    func recover() throws(SQLiteError) {
        cededTo = try SettingTable.text(Self.cededName, in: database.connection)
        for (shard, value) in try SettingTable.values(Self.prefix, in: database.connection) {
            let text = String(decoding: value, as: UTF8.self)
            guard let stage = Stage(text) else { throw .damage("\(shard) cannot be \(text)") }
            stages[shard] = stage
        }
    }

    // MARK: - Steps, each in the caller's transaction

    func cede(to shard: String) throws(SQLiteError) {
        try database.write()
        try database.settings.save(Array(shard.utf8), as: Self.cededName)
        cededTo = shard
    }

    func intend(_ shard: String) throws(SQLiteError) {
        if stages[shard] == nil { try note(.letters(after: 0), of: shard) }
    }

    func forget(_ shard: String) throws(SQLiteError) {
        guard stages.removeValue(forKey: shard) != nil else { return }
        try database.write()
        try database.settings.remove(Self.prefix + shard)
    }

    /// Takes over some of what a shard has left. Returns true if that was all.
    func take(_ portion: Portion, of shard: String) throws(SQLiteError) -> Bool {
        switch portion {
        case .letters(let found, let next):
            for letter in found { try letters.adopt(letter) }
            try tally.add(IntakeTally(logs: found.count))
            try note(next.map { .letters(after: $0) } ?? .requests(after: 0), of: shard)
            return false
        case .requests(let found, let next):
            for request in found { try repeats.adopt(request) }
            try note(.requests(after: next), of: shard)
            return false
        case .rest(let found, let ledgers, let sums):
            for request in found { try repeats.adopt(request) }
            for (name, ledger) in ledgers {
                destinations.named(name).change { $0 = $0 + ledger }
            }
            try tally.add(sums)
            try note(.done, of: shard)
            return true
        }
    }

    enum Portion {
        case letters([StoredLetter], next: Int64?)
        case requests([RepeatRecord], next: Int64)
        case rest([RepeatRecord], [String: Ledger], IntakeTally)

        var bytes: Int {
            switch self {
            case .letters(let letters, _): letters.reduce(0) { $0 + $1.cost }
            case .requests(let requests, _), .rest(let requests, _, _):
                requests.reduce(0) { $0 + $1.identity.cost }
            }
        }
    }

    private func note(_ stage: Stage, of shard: String) throws(SQLiteError) {
        try database.write()
        try database.settings.save(Array(stage.text.utf8), as: Self.prefix + shard)
        stages[shard] = stage
    }

    var state: AbsorptionState {
        AbsorptionState(cededTo: cededTo, absorptions: stages.mapValues(AbsorptionProgress.init))
    }
}

extension AbsorptionBook.Stage {
    fileprivate var text: String {
        switch self {
        case .letters(let number): "letters \(number)"
        case .requests(let number): "requests \(number)"
        case .done: "done"
        }
    }

    fileprivate init?(_ text: String) {
        let words = text.split(separator: " ")
        let number = words.count > 1 ? Int64(words[1]) : nil
        switch (words.first, number) {
        case ("letters", let number?): self = .letters(after: number)
        case ("requests", let number?): self = .requests(after: number)
        case ("done", nil): self = .done
        default: return nil
        }
    }
}

/// How far a shard has absorbed another one.
package enum AbsorptionProgress: Equatable, Sendable {
    /// Nothing is taken over yet. The other shard may not even be ceded.
    case intended
    case begun
    /// All is taken over, and the other shard's log can be removed.
    case done

    fileprivate init(_ stage: AbsorptionBook.Stage) {
        switch stage {
        case .letters(after: 0): self = .intended
        case .letters, .requests: self = .begun
        case .done: self = .done
        }
    }
}

/// What a shard knows of others, at its last commit.
struct AbsorptionState: Equatable {
    var cededTo: String?
    var absorptions: [String: AbsorptionProgress] = [:]
}

/// What a shard without logs has left: dead letters, remembered requests, ledgers and a tally. Read
/// from its scratch database, which no queue uses any more.
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
        tally += IntakeTally(logs: -Int(sum.dead))
        return (ledgers, tally)
    }
}
