import Queue
import SQLite
import System

@testable import SQLiteQueue

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
