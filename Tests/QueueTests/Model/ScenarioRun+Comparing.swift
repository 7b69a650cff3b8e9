import Queue
import SQLite
import System
import TestSupport

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

// What was asked is done: so it is told to the model.
extension ScenarioRun {
    func conclude() throws {
        let done = pending
        pending = []
        for asked in done {
            switch asked {
            case .append(let call, let answer):
                try conclude(call, answer.withLock { $0 })
            case .acknowledge(let held):
                lanes.acknowledge(held.packet.number)
                for number in held.numbers { model.move(number, to: .delivered, now) }
            case .drop(let held):
                lanes.abandon(held.packet.number)
                for number in held.numbers { model.move(number, to: .discarded, now) }
            case .relane(let held): lanes.abandon(held.packet.number)
            case .refuse(let held): refused.append(held)
            case .unreadable(let held):
                try check(isGone(held), "a packet with a damaged row is still here")
                if !expire(held) { mend(held) }
            case .giveBack(let held):
                let isExpired = expire(held)
                try check(isGone(held) == isExpired, "a packet given back is too old, or is not")
            }
        }
        let waiting = refused
        refused = []
        for held in waiting { try concludeRefusal(of: held) }
        for name in Settings.destinations { try learnDropped(of: name) }
    }

    private func conclude(_ index: Int, _ outcome: AppendOutcome?) throws {
        let call = calls[index]
        switch outcome {
        case nil: throw ModelFailure("call \(index) has no answer")
        case .repeated(let receipt, let logs)?:
            let first = Self.identity(index)
            try check(call.stored != nil, "call \(index) is known and was never stored")
            try check(receipt == first.receipt && logs == first.logs, "another call's receipt")
        case .refused(let why)?:
            try check(
                hasReason(why, for: call.parts.filter(\.batch.isRequired).map { rules($0) }),
                "call \(index) is refused as \(why), without a reason"
            )
            try check(
                call.stored == nil || why == .failing,
                "call \(index) was stored, and is refused as \(why) when it comes again"
            )
        case .stored?:
            try check(call.stored == nil, "call \(index) is stored twice")
            calls[index].stored = now
            model.count(tally(index))
            for part in call.parts {
                if try isSkipped(part) { continue }
                let name = part.batch.stream.destination
                for number in part.queued { model.accept(number, as: .queued, now) }
                for number in part.dead { model.accept(number, as: .dead, now) }
                model.drop(part.batch.dropped, of: name)
                if part.queued.count + part.dead.count > 0 { storedInto.insert(name) }
            }
        }
    }

    /// The model does not know what batches weigh, so it asks which optional ones found no room.
    private func isSkipped(_ part: Call.Part) throws -> Bool {
        let name = part.batch.stream.destination
        let shown = store.status.destinations[name]?.ledger.skipped ?? 0
        let known = model.ledgers[name]?.skipped ?? 0
        let numbers = part.queued + part.dead
        guard shown - known >= part.batch.allLogs, !numbers.isEmpty else { return false }
        let here = try Set(rows().flatMap(\.numbers) + letters().map(\.number))
        // The skipped logs may be those of another part. Of this one the oldest may have made room
        // already.
        guard here.isDisjoint(with: numbers) else { return false }
        try check(!part.batch.isRequired, "a batch that is required was skipped")
        let reasons = [QueueAdmission.destinationFull, .tooManyLogstores]
        try check(
            reasons.contains { hasReason($0, for: [rules(name)]) },
            "a batch for \(name) was skipped without a reason"
        )
        model.skip(part.batch.allLogs, of: name)
        return true
    }

    /// Whether the queue may say that of something that goes to destinations with these rules.
    func hasReason(_ refusal: QueueAdmission, for rules: [Rules]) -> Bool {
        switch refusal {
        case .failing: mayFail
        case .full: settings.bytes > 0
        case .destinationFull: rules.contains { $0.bytes > 0 }
        case .tooManyLogstores: rules.contains { $0.logstores < 3 }
        default: false
        }
    }

    private func rules(_ part: Call.Part) -> Rules { rules(part.batch.stream.destination) }

    private func isGone(_ held: Held) -> Bool {
        queue.owner.store?.packets[held.packet.number] == nil
    }

    private func concludeRefusal(of held: Held) throws {
        // It may wait for room.
        guard isGone(held) else { return refused.append(held) }
        lanes.abandon(held.packet.number)
        if held.numbers.contains(where: { model[$0].isDamaged }) { return mend(held) }
        let late = held.numbers.filter { model[$0].isLate(now) }
        for number in held.numbers { model.release(number) }
        guard late.isEmpty else { return try takeOut(late, of: held.packet.stream.destination) }
        if held.numbers.count == 1 { model.move(held.numbers[0], to: .dead, now) }
    }

    private func takeOut(_ late: [Int], of destination: String) throws {
        switch rules(destination).late {
        case .rewrite: for number in late { model.rewrite(number, now) }
        case .drop: for number in late { model.move(number, to: .discarded, now) }
        case .deadLetter:
            // As many as there is room for.
            let dead = Set(try letters().map(\.number))
            for number in late where dead.contains(number) { model.move(number, to: .dead, now) }
            let isBounded = settings.bytes > 0 || rules(destination).bytes > 0
            try check(isBounded || dead.isSuperset(of: late), "late logs are no dead letters")
        }
    }

    /// Its damaged rows are lost, the others go out in another packet.
    private func mend(_ held: Held) {
        lanes.abandon(held.packet.number)
        for number in held.numbers {
            if model[number].isDamaged {
                model.move(number, to: .discarded, now)
            } else {
                model.release(number)
            }
        }
    }

    /// If logs of it are too old these are gone, and the others go out in another packet.
    private func expire(_ held: Held) -> Bool {
        let old = held.numbers.filter { isOld($0) }
        guard !old.isEmpty else { return false }
        lanes.abandon(held.packet.number)
        for number in held.numbers { model.release(number) }
        for number in old { model.move(number, to: .expired, now) }
        return true
    }

    func isOld(_ number: Int) -> Bool {
        let age = rules(model[number].stream.destination).age
        return model[number].received + .seconds(age > 0 ? age : settings.age) <= now
    }

    /// The model does not know what rows weigh, so it asks which logs made room; they must be the
    /// oldest that waited.
    private func learnDropped(of name: String) throws {
        let shown = store.status.destinations[name]?.ledger.expired ?? 0
        let known = model.ledgers[name]?.expired ?? 0
        guard shown > known else { return }
        try check(rules(name).dropsOldest, "\(shown - known) logs of \(name) expired early")
        let rows = try rows()
        let here = Set(rows.flatMap(\.numbers))
        let gone = model.all(.queued, of: name).filter { !here.contains($0) }
        try check(gone.count == shown - known, "\(gone) are gone, and \(shown - known) expired")
        let waiting = rows.filter { !$0.isSealed && $0.key.destination == name }
        let oldest = waiting.map(\.record.received).min()
        for number in gone {
            // A salvage takes packets apart whose stream lost rows: their logs wait like new ones.
            let log = model[number]
            let isSealed = log.packet != nil || (log.parent != nil && !log.isLoose)
            try check(!isSealed, "log \(number) was dropped out of a packet")
            try check(
                oldest.map { model[number].received <= $0 } ?? true,
                "log \(number) made room before older ones"
            )
            model.move(number, to: .expired, now)
        }
    }
}
