import Logs
import Queue
import System
import TestSupport

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

/// A dead letter as it is on the disk.
struct ModelLetter {
    let id: Int64
    let number: Int
    let died: WallTime
    let cost: Int
}

extension ScenarioRun {
    /// All of them, in the order in which they died.
    func letters() throws -> [ModelLetter] {
        try store.letters().map { letter in
            guard let log = letter.log else {
                throw ModelFailure("dead letter \(letter.id) cannot be read")
            }
            return ModelLetter(
                id: letter.id,
                number: try model.number(log.bytes),
                died: letter.died,
                cost: letter.cost
            )
        }
    }

    func replay(_ pick: Int, _ count: Int) throws {
        try change(pick, count, to: .queued) { store.change(.replay, $0, whenDone: $1) }
    }

    func purge(_ pick: Int, _ count: Int) throws {
        try change(pick, count, to: .discarded) { store.change(.purge, $0, whenDone: $1) }
    }

    /// So many letters, or all of them.
    private func change(
        _ pick: Int,
        _ count: Int,
        to place: ModelLog.Place,
        _ begin: (DeadLetterSelection, @escaping @Sendable (DeadLetterChange) -> Void) -> Void
    ) throws {
        let before = try letters()
        guard !before.isEmpty else { return }
        let chosen = before[(pick % before.count)...].prefix(count)
        let selection =
            count == .max
            ? DeadLetterSelection.matching(DeadLetterFilter()) : .ids(chosen.map(\.id))
        let answer = Locked<DeadLetterChange?>(nil)
        begin(selection) { change in answer.withLock { $0 = change } }
        try queue.run()
        guard let change = answer.withLock({ $0 }) else {
            throw ModelFailure("a change of dead letters has no answer")
        }
        let left = Set(try letters().map(\.id))
        let changed = chosen.filter { !left.contains($0.id) }
        try check(change.changed == changed.count, "\(change), and \(changed.count) changed")
        switch change.end {
        case .complete:
            try check(changed.count == chosen.count, "\(change), and not all changed")
        case .refused(let why):
            // What only leaves needs no room.
            let mayBe = place == .queued ? hasReason(why, for: settings.rules) : mayFail
            try check(mayBe, "\(change), without a reason")
        case .busy, .tooManyIDs: throw ModelFailure("\(change), without a reason")
        }
        for letter in changed { model.move(letter.number, to: place, now) }
        try conclude()
        try settle()
    }

    func edit(_ pick: Int, _ filling: Int) throws {
        let letters = try letters()
        guard !letters.isEmpty else { return }
        let letter = letters[pick % letters.count]
        let edit = DeadLetterEdit(fields: ModelLog.fields(letter.number, filling))
        let answer = Locked<DeadLetterEditOutcome?>(nil)
        store.replace(letter.id, with: edit) { outcome in answer.withLock { $0 = outcome } }
        try queue.run()
        switch answer.withLock({ $0 }) {
        case .replaced?: model.edit(letter.number, filling: filling)
        case .refused(let why)?:
            try check(
                hasReason(why, for: settings.rules),
                "an edit is refused as \(why), without a reason"
            )
        case let outcome: throw ModelFailure("an edit ended as \(String(describing: outcome))")
        }
        try conclude()
        try settle()
    }
}

extension ScenarioRun {
    /// A packet was handed over: compares it with the logs that the model has.
    func note(_ packet: SealedPacket) throws {
        let outlet = packet.stream.outlet
        asked[outlet, default: 0] -= 1
        try check(asked[outlet] ?? 0 >= 0, "a packet of \(outlet) came that nobody asked for")
        try lanes.note(packet)
        let isHeld = inFlight.contains { $0.packet.number == packet.number }
        try check(!isHeld, "packet \(packet.number) is handed over twice")
        // One that waited for room may be handed over once more.
        refused.removeAll { $0.packet.number == packet.number }
        guard let numbers = try contents(of: packet) else { return }
        try check(numbers.count == packet.logCount, "packet \(packet.number) miscounts its logs")
        try compareSizes(packet, numbers)
        try compareOrder(packet, numbers)
        let revisions = numbers.map { Revision(number: $0, revision: model[$0].revision) }
        let before = contents.updateValue(revisions, forKey: packet.packID)
        try check(before == nil || before == revisions, "pack id \(packet.packID) changed")
        for number in numbers { model[number].packet = packet.number }
        inFlight.append(Held(packet: packet, numbers: numbers))
    }

    /// The logs in it; nil when it cannot be read, or is to be given back, which the queue knows
    /// then.
    func contents(of packet: SealedPacket) throws -> [Int]? {
        do {
            return try model.numbers(store.blocks(of: packet))
        } catch let error as QueueError {
            let numbers = try rows().filter {
                $0.stream == packet.streamID.number && packet.rows.contains($0.record.id)
            }.flatMap(\.numbers)
            let held = Held(packet: packet, numbers: numbers)
            for number in numbers { model[number].packet = packet.number }
            switch error.kind {
            case .corrupt:
                let isDamaged = numbers.contains { model[$0].isDamaged }
                try check(
                    isDamaged,
                    "packet \(packet.number) is well, and cannot be read: \(error)"
                )
                pending.append(.unreadable(held))
            case .withdrawn:
                let isRecalled = queue.isRecalled(packet.number)
                try check(isRecalled, "packet \(packet.number) is withdrawn and not recalled")
                pending.append(.giveBack(held))
            default: throw ModelFailure("packet \(packet.number) cannot be read: \(error)")
            }
            return nil
        }
    }

    private func compareSizes(_ packet: SealedPacket, _ numbers: [Int]) throws(ModelFailure) {
        let raw = numbers.reduce(0) { $0 + model[$1].bytes.count }
        try check(raw == packet.rawBytes, "packet \(packet.number) miscounts its bytes")
        let oldest = numbers.map { model[$0].received }.min()
        try check(oldest == packet.oldest, "packet \(packet.number) is not as old as it says")
        let rules = rules(packet.stream.destination)
        // What was sealed under other rules, or is one row, may be larger.
        let isNew = numbers.allSatisfy { model[$0].packet == nil && model[$0].parent == nil }
        let fits = packet.logCount <= rules.packetLogs && packet.rawBytes <= rules.packetBytes
        try check(
            !isNew || fits || packet.rows.lowerBound == packet.rows.upperBound,
            "packet \(packet.number) exceeds its limits"
        )
    }

    /// Each log is in one packet, packets that were sealed stay as they are, and what is new comes
    /// in order.
    private func compareOrder(_ packet: SealedPacket, _ numbers: [Int]) throws(ModelFailure) {
        let logs = numbers.map { model[$0] }
        let what = "packet \(packet.number) with \(numbers)"
        for log in logs {
            try check(log.place == .queued, "\(what): log \(log.number) is \(log.place)")
            try check(
                log.stream == packet.stream,
                "\(what): log \(log.number) is of another stream"
            )
            try check(
                log.packet == nil || log.packet == packet.number,
                "\(what): log \(log.number) is in packet \(log.packet ?? 0) too"
            )
        }
        let orders = logs.map(\.order)
        try check(zip(orders, orders.dropFirst()).allSatisfy { $0 < $1 }, "\(what) is not in order")
        if logs.contains(where: { $0.packet != nil }) {
            let whole = model.logs.filter { $0.packet == packet.number }.map(\.number)
            return try check(Set(whole) == Set(numbers), "\(what) had \(whole) before")
        }
        guard !logs.contains(where: \.isLoose) else { return }
        let parents = Set(logs.map(\.parent))
        try check(parents.count == 1, "\(what) has logs of packets \(parents)")
        guard parents.first == .some(nil), let first = orders.first, let last = orders.last else {
            return
        }
        let before = lastOrder[packet.streamID.number] ?? 0
        try check(first > before, "\(what) comes after later logs of its stream")
        lastOrder[packet.streamID.number] = last
    }
}
