import Queue
import SQLite
import System

@testable import SQLiteQueue

/// A row as it is on the disk.
struct ModelRow {
    let record: RowRecord
    let stream: Int64
    let key: StreamKey
    let isSealed: Bool
    let numbers: [Int]
}

extension ScenarioRun {
    /// After each operation: ledgers and bounds. Now and then, everything there is.
    func compare() throws {
        let status = store.status
        for name in Settings.destinations {
            let shown = status.destinations[name]?.ledger ?? Ledger()
            let expected = model.ledgers[name] ?? Ledger()
            try check(shown.isClosed, "the ledger of \(name) is not closed: \(shown)")
            try check(shown == expected, "the ledger of \(name) is \(shown), not \(expected)")
        }
        try check(
            status.intake == model.tally,
            "the tally is \(status.intake), not \(model.tally)"
        )
        let all = status.ledger
        try check(
            Int64(status.intake.copies) == all.accepted + all.skipped,
            "\(status.intake.copies) copies were counted, and the ledgers have \(all)"
        )
        try compareBounds(status)
        storedInto = []
        comparisons += 1
        if comparisons.isMultiple(of: auditEvery) { try audit() }
    }

    private func compareBounds(_ status: QueueStatus) throws(ModelFailure) {
        func compare(_ what: String, _ bytes: Int, _ most: Int, isNew: Bool) throws(ModelFailure) {
            guard most > 0 else { return }
            try check(!isNew || bytes <= most, "\(what) took logs beyond its bound: \(bytes)")
            // What dies may exceed it a little, since it leaves the queue for that.
            try check(bytes <= most + most / 8, "\(what) has \(bytes) bytes of \(most)")
        }
        try compare("the queue", status.bytes, settings.bytes, isNew: !storedInto.isEmpty)
        for (name, destination) in status.destinations {
            let most = rules(name).bytes
            try compare(name, destination.bytes, most, isNew: storedInto.contains(name))
        }
    }

    /// Every log on the disk is where the model has it, as it was sent, in order, and weighs what
    /// is counted.
    func audit() throws {
        let rows = try rows()
        var seen: Set<Int> = []
        var last: [Int64: Int] = [:]
        for row in rows {
            try check(
                row.numbers.count == row.record.logs,
                "row \(row.record.id) miscounts its logs"
            )
            for number in row.numbers {
                let log = model[number]
                let what = "log \(number) of row \(row.record.id)"
                try check(seen.insert(number).inserted, "\(what) is there twice")
                try check(log.place == .queued, "\(what) is \(log.place)")
                try check(log.stream == row.key, "\(what) is of another stream")
                try check(log.received == row.record.received, "\(what) has another age")
                try check(log.order > last[row.stream] ?? 0, "\(what) is before an earlier one")
                last[row.stream] = log.order
            }
        }
        let lost = model.all(.queued).filter { !seen.contains($0) }
        try check(lost.isEmpty, "logs \(lost) are queued, and in no row")
        let letters = try letters()
        try audit(letters)
        let store = try queue.opened()
        let imbalances = store.imbalances()
        try check(imbalances.isEmpty, "\(imbalances)")
        let weight =
            rows.reduce(0) { $0 + $1.record.size + RowRecord.overhead }
            + letters.reduce(0) { $0 + $1.cost }
            + store.streams.every.filter(\.isBusy).reduce(0) { $0 + $1.cost }
        try check(
            weight == store.weight.bytes,
            "\(store.weight.bytes) bytes are counted, and \(weight) there"
        )
    }

    private func audit(_ letters: [ModelLetter]) throws(ModelFailure) {
        var seen: Set<Int> = []
        for letter in letters {
            let log = model[letter.number]
            let what = "dead letter \(letter.id) with log \(log.number)"
            try check(seen.insert(log.number).inserted, "\(what) is there twice")
            try check(log.place == .dead, "\(what) is \(log.place)")
            try check(log.died == letter.died, "\(what) did not die then")
        }
        let lost = model.all(.dead).filter { !seen.contains($0) }
        try check(lost.isEmpty, "logs \(lost) are dead, and no letters")
    }

    func rows() throws -> [ModelRow] {
        let store = try queue.opened()
        var keys: [Int64: StreamKey] = [:]
        for stream in store.streams.every { keys[stream.id] = stream.key }
        let packets = Dictionary(grouping: store.packets.all, by: \.record.stream)
        let all = try store.database.connection.prepare(
            "SELECT \(StoredRow.columns) FROM rows ORDER BY stream, id"
        )
        var rows: [ModelRow] = []
        while try all.step() {
            let row = StoredRow(all)
            let id = row.record.id
            guard let key = keys[row.stream] else { throw ModelFailure("row \(id) has no stream") }
            try check(row.isIntact == (damagedRows[id] == nil), "row \(id) is not what was stored")
            let sealed = packets[row.stream]?.contains { $0.record.rows.contains(id) } ?? false
            rows.append(
                ModelRow(
                    record: row.record,
                    stream: row.stream,
                    key: key,
                    isSealed: sealed,
                    numbers: try damagedRows[id] ?? model.numbers([row.block])
                )
            )
        }
        return rows
    }
}
