import Logs
import Queue
import SQLite
import System
import TestSupport

@testable import SQLiteQueue

/// What a device sends in one request.
struct Call {
    struct Part {
        let batch: Batch
        let queued: [Int]
        let dead: [Int]
    }

    var parts: [Part] = []
    /// When it was stored.
    var stored: WallTime?
}

extension ScenarioRun {
    /// Asks the queue, which does it with the next turn.
    func begin(_ operation: Operation) throws {
        switch operation {
        case .append(let loads):
            calls.append(Call(parts: loads.map { part($0) }))
            send(calls.count - 1)
        case .again(let pick): again(pick)
        case .flush(let destination): store.flush(Settings.destinations[destination % 2])
        case .ask(let outlet, let count): ask(Settings.outlet(outlet), count)
        case .acknowledge(let pick): end(pick, .stored, Pending.acknowledge)
        case .refuse(let pick): end(pick, .isolate(FakeSLS.reason), Pending.refuse)
        case .drop(let pick): end(pick, .discard(FakeSLS.reason), Pending.drop)
        case .relane(let pick): end(pick, .relane, Pending.relane)
        case .setAside(let pick):
            take(pick) {
                store.setAside($0.packet)
                inFlight.append($0)
            }
        case .postpone(let pick):
            take(pick) {
                store.setAside($0.packet)
                store.end($0.packet, .postpone)
            }
        case .read(let pick): try read(pick)
        case .giveBack(let pick): giveBack(pick)
        case .advance(let seconds): queue.clock.advance(.seconds(seconds))
        case .fail(let looks):
            mayFail = true
            queue.fail(after: looks)
        default: preconditionFailure("\(operation) has a function of its own")
        }
    }

    func ask(_ outlet: Outlet, _ count: Int) {
        asked[outlet, default: 0] += count
        store.request(count, for: outlet)
    }

    private func end(_ pick: Int, _ end: PacketEnd, _ asked: (Held) -> Pending) {
        take(pick) {
            store.end($0.packet, end)
            pending.append(asked($0))
        }
    }

    private func take(_ pick: Int, _ body: (Held) -> Void) {
        if !inFlight.isEmpty { body(inFlight.remove(at: pick % inFlight.count)) }
    }

    private func part(_ load: Load) -> Call.Part {
        let stream = Settings.stream(load.stream)
        func make(_ count: Int) -> [Int] {
            (0..<count).map { index in
                let isLate = load.late > 0 && (index + 1).isMultiple(of: load.late)
                let stamp = now.seconds - (isLate ? 8 * 86_400 : 0)
                return model.make(stream, stamp: stamp, filling: load.filling)
            }
        }
        let (queued, dead) = (make(load.logs), make(load.dead))
        let reason = DeathReason(code: "ValueTooLarge", message: "")
        let batch = Batch(
            stream: stream,
            logs: encoded(queued),
            dead: dead.isEmpty ? [] : [Batch.Dead(logs: encoded(dead), reason: reason)],
            dropped: load.dropped,
            isRequired: !load.isOptional
        )
        return Call.Part(batch: batch, queued: queued, dead: dead)
    }

    private func encoded(_ numbers: [Int]) -> EncodedLogs {
        EncodedLogs(bytes: numbers.flatMap { model[$0].bytes }, count: numbers.count)
    }

    private func send(_ index: Int) {
        let answer = Locked<AppendOutcome?>(nil)
        pending.append(.append(call: index, answer))
        store.append(
            calls[index].parts.map(\.batch),
            identity: Self.identity(index),
            sender: nil,
            tally: tally(index)
        ) { outcome in
            answer.withLock { $0 = outcome }
        }
    }

    /// As if a filter had dropped some logs more.
    func tally(_ call: Int) -> IntakeTally {
        var tally = IntakeTally(calls[call].parts.map(\.batch))
        tally += IntakeTally(received: call % 3, filtered: call % 3)
        return tally
    }

    static func identity(_ call: Int) -> BatchIdentity {
        let digest = (0..<16).map { UInt8(truncatingIfNeeded: call >> ($0 % 8 * 8)) }
        return BatchIdentity(digest: digest, receipt: Array("\(call)".utf8), logs: call)
    }

    private func again(_ pick: Int) {
        guard !calls.isEmpty else { return }
        let index = pick % calls.count
        // Whether a request is still remembered after a day is a question of its own.
        if let stored = calls[index].stored, stored + .seconds(80_000) < now { return }
        send(index)
    }

    private func read(_ pick: Int) throws {
        guard !inFlight.isEmpty else { return }
        let index = pick % inFlight.count
        let held = inFlight[index]
        if try contents(of: held.packet) != held.numbers { inFlight.remove(at: index) }
    }

    private func giveBack(_ pick: Int) {
        let recalled = inFlight.indices.filter { queue.isRecalled(inFlight[$0].packet.number) }
        guard !recalled.isEmpty else { return }
        let held = inFlight.remove(at: recalled[pick % recalled.count])
        store.end(held.packet, .recalled)
        pending.append(.giveBack(held))
    }
}

extension ScenarioRun {
    /// A lowered bound takes effect with the next batch; the model wants it to hold now.
    func apply(_ rules: Rules, to destination: Int) throws {
        let name = Settings.destinations[destination % 2]
        var rules = rules
        let bytes = store.status.destinations[name]?.bytes ?? 0
        if rules.bytes > 0 { rules.bytes = max(rules.bytes, bytes) }
        settings.rules[destination % 2] = rules
        queue.apply(settings.configuration("").destinations)
        try settle()
    }

    func doHousekeeping() throws {
        try queue.doHousekeeping()
        expireOld()
        try settle()
    }

    /// What is too old is gone, but for what delivery has: that is recalled.
    private func expireOld() {
        let held = Set(inFlight.map(\.packet.number))
        let old = model.all(.queued).filter { number in
            isOld(number) && !held.contains(model[number].packet ?? 0)
        }
        for packet in Set(old.compactMap { model[$0].packet }) {
            lanes.abandon(packet)
            refused.removeAll { $0.packet.number == packet }
            for log in model.logs where log.packet == packet { model.release(log.number) }
        }
        for number in old { model.move(number, to: .expired, now) }
        for number in model.all(.dead) where model[number].died + .seconds(settings.deadAge) <= now
        {
            model.move(number, to: .expired, now)
        }
    }

    /// The row of one of the logs that are queued.
    func damage(_ pick: Int) throws {
        let rows = try rows().filter { damagedRows[$0.record.id] == nil && $0.record.logs > 0 }
        guard !rows.isEmpty else { return }
        let row = rows[pick % rows.count]
        queue.mend()
        try queue.opened().database.connection.execute(
            "UPDATE rows SET payload = zeroblob(size) WHERE id = \(row.record.id)"
        )
        damagedRows[row.record.id] = row.numbers
        for number in row.numbers { model[number].isDamaged = true }
    }

    func restart(_ end: SteppedQueue.End) throws {
        let before = store.status
        // What was asked and not done is as if it had never been asked.
        pending = []
        inFlight = []
        refused = []
        asked = [:]
        storedInto = []
        mayFail = false
        try queue.restart(end)
        if end == .damaged { try salvaged() }
        try compareLives(before, store.status, end)
        lanes.restart()
        // Each life begins with a look at what is too old.
        try doHousekeeping()
        try audit()
    }

    /// What can be read is there again, and as it was; the rest is lost and counted.
    private func salvaged() throws(ModelFailure) {
        let expected = model.ledgers.values.contains { $0.accepted > 0 } ? 1 : 0
        try check(store.status.salvages == expected, "\(store.status.salvages) salvages")
        let damaged = model.all(.queued).filter { model[$0].isDamaged }
        for packet in Set(damaged.compactMap { model[$0].packet }) {
            lanes.abandon(packet)
            for log in model.logs where log.packet == packet { model.release(log.number) }
        }
        for number in damaged { model.move(number, to: .discarded, now) }
        // Of a stream that lost rows, those that were in packets may wait again, and packets be cut
        // anew.
        let streams = Set(damaged.map { model[$0].stream })
        for number in model.all(.queued) where streams.contains(model[number].stream) {
            model[number].isLoose = model[number].packet == nil
        }
    }

    private func compareLives(
        _ before: QueueStatus,
        _ after: QueueStatus,
        _ end: SteppedQueue.End
    ) throws(ModelFailure) {
        for name in Settings.destinations {
            let shown = after.destinations[name]?.ledger ?? Ledger()
            let expected = model.ledgers[name] ?? Ledger()
            try check(shown == expected, "\(name) was \(expected), and is \(shown) after a start")
        }
        try check(after.repairedLogs == 0, "\(after.repairedLogs) logs were put right")
        guard end != .damaged else { return }
        try check(after.salvages == 0, "a start found damage")
        try check(after.bytes == before.bytes, "\(before.bytes) bytes became \(after.bytes)")
        try check(after.streams == before.streams, "streams: \(before.streams), \(after.streams)")
        for (name, destination) in after.destinations {
            let bytes = before.destinations[name]?.bytes ?? 0
            try check(bytes == destination.bytes, "\(bytes) bytes of \(name) became others")
        }
    }
}
