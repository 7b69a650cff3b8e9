import Queue
import System

@testable import SQLiteQueue

/// The queue and the model side by side: each operation is asked of the one and, once it is done,
/// told to the other.
final class ScenarioRun {
    let queue: SteppedQueue
    var model = LogModel()
    var lanes = LaneModel()
    /// With the rules of this moment.
    var settings: Settings

    var calls: [Call] = []
    /// Asked for, and not known to be done.
    var pending: [Pending] = []
    /// Operations that still share the transaction at hand.
    private var gathering = 0
    /// Packets that delivery has, and those that it gave back and that wait to be taken apart.
    var inFlight: [Held] = []
    var refused: [Held] = []
    var asked: [Outlet: Int] = [:]
    /// What came under each pack id, and the last log that came of each stream.
    var contents: [String: [Revision]] = [:]
    var lastOrder: [Int64: Int] = [:]
    /// Rows that were changed on the disk, with their logs.
    var damagedRows: [Int64: [Int]] = [:]
    /// Destinations of which batches were stored since their bounds were last looked at.
    var storedInto: Set<String> = []
    var comparisons = 0
    let auditEvery: Int
    /// The disk may fail now, or has failed in what was asked last.
    var mayFail = false

    struct Held {
        let packet: SealedPacket
        let numbers: [Int]
    }

    struct Revision: Equatable {
        let number: Int
        let revision: Int
    }

    enum Pending {
        case append(call: Int, Locked<AppendOutcome?>)
        case acknowledge(Held)
        case refuse(Held)
        case drop(Held)
        case relane(Held)
        case unreadable(Held)
        case giveBack(Held)
    }

    init(_ settings: Settings, seed: UInt64, auditEvery: Int) throws {
        self.settings = settings
        self.auditEvery = auditEvery
        queue = try SteppedQueue(settings, seed: seed)
    }

    var store: DurableQueue { queue.store }
    var now: WallTime { queue.now }

    func rules(_ destination: String) -> Rules {
        settings.rules[destination == Settings.destinations[0] ? 0 : 1]
    }

    func perform(_ operation: Operation) throws {
        if gathering > 0, operation.canShare {
            gathering -= 1
            try begin(operation)
            if gathering == 0 { try settle() }
            return
        }
        // A crash takes what was asked and not done.
        if operation != .crash, gathering > 0 { try settle() }
        gathering = 0
        switch operation {
        case .gather(let count): gathering = count
        case .doHousekeeping: try doHousekeeping()
        case .replay(let letter, let count): try replay(letter, count)
        case .purge(let letter, let count): try purge(letter, count)
        case .edit(let letter, let filling): try edit(letter, filling)
        case .apply(let destination, let rules): try apply(rules, to: destination)
        case .damage(let log): try damage(log)
        case .restart: try restart(.orderly)
        case .crash: try restart(.crash)
        case .salvage: try restart(.damaged)
        default:
            try begin(operation)
            try settle()
        }
    }

    /// Lets the queue do all that was asked, takes what it hands over, and compares.
    func settle() throws {
        for _ in 0..<200 {
            try queue.run()
            try conclude()
            let packets = queue.takePackets()
            for packet in packets { try note(packet) }
            if packets.isEmpty, pending.isEmpty {
                // One failure ends with its transaction; what comes now has to be taken.
                mayFail = try queue.isSabotaged()
                return try compare()
            }
        }
        throw ModelFailure("packets come without end")
    }

    /// Whatever happened, an empty queue is open to a destination that may have anything.
    private func takesAgain() throws {
        try apply(Rules(), to: 0)
        try begin(.append([Load(stream: 0, logs: 1)]))
        try settle()
        try check(calls.last?.stored != nil, "an empty queue takes nothing")
    }

    /// Whatever happened, everything leaves in the end, or is a dead letter that can be purged.
    func finish() throws {
        queue.mend()
        try settle()
        for _ in 0..<300 where store.status.ledger.queued > 0 {
            // Refused packets may wait for the room that dead letters take.
            try purge(0, .max)
            for name in Settings.destinations { store.flush(name) }
            for outlet in Settings.outlets { ask(outlet, 20) }
            try settle()
            while !inFlight.isEmpty { try begin(.acknowledge(0)) }
            try settle()
        }
        try check(store.status.ledger.queued == 0, "\(store.status.ledger.queued) logs never leave")
        try purge(0, .max)
        try audit()
        let status = store.status
        try check(status.bytes == 0, "an empty queue has \(status.bytes) bytes")
        try check(status.rows == 0 && status.packets == 0 && status.streams == 0, "\(status)")
        try check(model.all(.queued).isEmpty && model.all(.dead).isEmpty, "the model has more")
        try takesAgain()
    }
}

extension Operation {
    /// Whether it can be asked together with others, and done in one transaction.
    fileprivate var canShare: Bool {
        switch self {
        case .append, .again, .flush, .ask, .acknowledge, .refuse, .drop, .relane, .setAside,
            .postpone, .giveBack, .fail:
            true
        default: false
        }
    }
}
