import Queue
import SQLite

/// A request of the fleet: see `AbsorptionBook`.
enum ShardRequest: Sendable {
    /// Gives the shard up, if nothing waits in it.
    case cede(to: String, @Sendable (Bool) -> Void)
    case intend(String, @Sendable (Bool) -> Void)
    case absorb(String, from: String, @Sendable (AbsorptionOutcome) -> Void)
    case forget(String, @Sendable (Bool) -> Void)

    func refuse() {
        switch self {
        case .cede(_, let answer), .intend(_, let answer), .forget(_, let answer): answer(false)
        case .absorb(_, _, let answer): answer(.refused("the queue cannot be written now"))
        }
    }
}

package enum AbsorptionOutcome: Equatable, Sendable {
    case done
    /// Not now, and why.
    case refused(String)
    /// What the other shard has left cannot be read.
    case damaged(String)
}

/// Waiting requests of the fleet, and the work of the current transaction for the first one.
struct ShardWork {
    private var waiting = Fifo<ShardRequest>()
    /// The request of the current transaction, from `takeStep` to `settle` or `refuse`.
    private var inTransaction: ShardRequest?
    /// An absorption that has begun, which takes more than one transaction.
    private var absorbing: (request: ShardRequest, remains: ShardRemains)?
    /// Answers the request; nil: the current transaction does not finish it.
    private var answer: (@Sendable () -> Void)?

    var isEmpty: Bool { waiting.isEmpty && absorbing == nil }

    var isUnderWay: Bool { inTransaction != nil }

    mutating func add(_ request: ShardRequest) { waiting.append(request) }

    /// Takes one step, which adds at most `room` bytes.
    mutating func takeStep(in store: OpenStore, room: Int) throws(SQLiteError) {
        guard inTransaction == nil, let request = absorbing?.request ?? waiting.popFirst() else {
            return
        }
        inTransaction = request
        let absorptions = store.absorptions
        switch request {
        case .cede(let shard, let tell):
            // A commit whose confirmation was lost may have ceded it.
            let isCeded = absorptions.cededTo == shard
            let mayCede = !isCeded && store.isEmptied
            if mayCede { try absorptions.cede(to: shard) }
            answer = { tell(isCeded || mayCede) }
        case .intend(let shard, let tell):
            try absorptions.intend(shard)
            answer = { tell(true) }
        case .forget(let shard, let tell):
            try absorptions.forget(shard)
            answer = { tell(true) }
        case .absorb(let shard, let directory, let tell):
            let portion: AbsorptionBook.Portion?
            let remains: ShardRemains
            do throws(SQLiteError) {
                if let absorbing {
                    remains = absorbing.remains
                } else {
                    remains = try ShardRemains(in: directory)
                }
                portion = try remains.portion(of: shard, for: absorptions)
            } catch {
                // It says nothing about the store of this queue.
                answer = { tell(.damaged(error.description)) }
                return
            }
            absorbing = (request, remains)
            guard let portion else { return answer = { tell(.done) } }
            guard portion.bytes <= room else {
                return answer = { tell(.refused("the disk has no room for what is left")) }
            }
            if try absorptions.take(portion, of: shard) { answer = { tell(.done) } }
        }
    }

    /// Called after a commit. Answers the request if all of it is done.
    mutating func settle() {
        inTransaction = nil
        guard let answer else { return }
        self.answer = nil
        absorbing = nil
        answer()
    }

    mutating func refuse() {
        (inTransaction ?? absorbing?.request)?.refuse()
        (inTransaction, absorbing, answer) = (nil, nil, nil)
        while let request = waiting.popFirst() { request.refuse() }
    }
}

extension OpenStore {
    /// True if nothing waits to be delivered, and nothing that was begun is left.
    fileprivate var isEmptied: Bool {
        weight.rows == 0 && packets.count == 0 && acknowledgements.remainders.isEmpty
            && destinations.all.allSatisfy { $0.ledger.queued == 0 }
            && absorptions.stages.isEmpty && absorptions.cededTo == nil
    }
}

extension ShardRemains {
    fileprivate convenience init(in directory: String) throws(SQLiteError) {
        try self.init(in: DataDirectory(path: directory, isScratch: true))
    }

    /// What the next transaction takes over; nil: there is nothing more.
    fileprivate func portion(
        of shard: String,
        for absorptions: AbsorptionBook
    ) throws(SQLiteError) -> AbsorptionBook.Portion? {
        guard let stage = absorptions.stages[shard] else {
            throw .damage("there is no intent to absorb the shard \(shard)")
        }
        switch stage {
        case .done: return nil
        case .letters(let number):
            let (found, next) = try letters(after: number)
            return .letters(found, next: next)
        case .requests(let number):
            let (found, next) = try requests(after: number)
            if let next { return .requests(found, next: next) }
            let (ledgers, tally) = try sums()
            return .rest(found, ledgers, tally)
        }
    }
}
