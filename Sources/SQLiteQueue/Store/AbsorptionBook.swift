import Queue
import SQLite
import System

/// How shards become one: an empty shard is *ceded* to another one, which *absorbs* what it has
/// left.
///
/// The absorbing shard notes its intent first. Then the other one is ceded, which is its last
/// transaction. The absorbing shard takes the remains over in steps and notes its progress in the
/// same transactions, so each crash leaves a state from which the next owner of both can go on. The
/// last step adds the ledgers. Only then may the ceded shard's log be removed.
final class AbsorptionBook: StorePart {
    /// What the absorbing shard takes over next.
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

    let context: StoreContext
    private let letters: DeadLetterBook
    private let destinations: DestinationBook
    private let repeats: RepeatMemory
    private let tally: TallyBook
    /// Of shards that are absorbed here, by their names.
    private(set) var stages: [String: Stage] = [:]
    /// The shard that absorbs this one; nil: none does. Nothing here changes any more.
    private(set) var cededTo: String?

    init(
        _ letters: DeadLetterBook,
        _ destinations: DestinationBook,
        _ repeats: RepeatMemory,
        _ tally: TallyBook
    ) {
        context = letters.context
        self.letters = letters
        self.destinations = destinations
        self.repeats = repeats
        self.tally = tally
    }

    func recover() throws(SQLiteError) {
        cededTo = try database.settings.text(Self.cededName)
        for (name, text) in try database.settings.texts(Self.prefix) {
            guard let stage = Stage(text) else { throw .damage("\(name) cannot be \(text)") }
            stages[String(name.dropFirst(Self.prefix.count))] = stage
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

    /// What one transaction takes over.
    enum Portion {
        case letters([StoredLetter], next: Int64?)
        case requests([RepeatRecord], next: Int64)
        case rest([RepeatRecord], [String: Ledger], IntakeTally)

        /// The room that it takes, about.
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
