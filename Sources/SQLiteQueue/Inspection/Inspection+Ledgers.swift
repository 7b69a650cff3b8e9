import Queue
import SQLite

extension Inspection {
    mutating func readLedgers() {
        do throws(SQLiteError) {
            let all = try connection.prepare("SELECT * FROM ledger")
            while try all.step() { report.ledgers[all.text(0)] = Ledger(all) }
        } catch {
            report.found(.unreadable, "ledger cannot be read: \(error)")
        }
    }

    /// Compares the tally of all requests with itself and with the ledgers.
    mutating func compareIntake() {
        let sums: IntakeTally?
        do throws(SQLiteError) {
            sums = try IntakeTable.sums(connection)
        } catch {
            return report.found(.unreadable, "intake cannot be read: \(error)")
        }
        guard let sums else {
            return report.found(.ledger, "the tally of received logs is missing or cannot be")
        }
        report.intake = sums
        guard report.ledgers.values.allSatisfy(\.isPlausible) else { return }
        let all = report.ledgers.values.reduce(Ledger()) { $0 + $1 }
        if !sums.isClosed {
            report.found(.ledger, "the tally of received logs does not add up")
        } else if Int64(sums.copies) != all.accepted + all.skipped {
            report.found(
                .ledger,
                "the tally counts \(sums.copies) copies of logs for destinations, but their ledgers count "
                    + "\(all.accepted) accepted and \(all.skipped) skipped"
            )
        }
    }

    mutating func readLetters() {
        read(DeadRecord.columns, of: "dead", key: "id") { inspection, row in
            let letter = StoredLetter(row)
            inspection.report.deadLetters += 1
            inspection.dead[letter.record.stream.destination, default: 0] += 1
            guard letter.log == nil else { return }
            inspection.report.found(
                .deadLetters,
                "dead letter \(letter.record.id) has changed on the disk"
            )
        }
    }

    /// Counts the remembered requests.
    mutating func readRepeats() {
        read("*", of: "repeats", key: "number") { inspection, row in
            inspection.report.repeats += 1
            guard (try? RepeatRecord(row)) == nil else { return }
            inspection.report.found(.repeats, "remembered request \(row.integer(0)) has changed")
        }
    }

    /// Compares the ledgers with each other and with the logs that were found.
    mutating func compareLedgers() {
        let names = Set(report.ledgers.keys).union(queued.keys).union(dead.keys)
        // Ledgers also count logs that a salvage has not copied yet, which lie in another file.
        let remainders = (try? QueueDatabase.remainders(connection)) ?? []
        func aside(_ logs: (Remainder) -> Int64?) -> Int64 {
            remainders.reduce(0) { $0 + (logs($1) ?? 0) }
        }
        for name in names.sorted() {
            let ledger = report.ledgers[name] ?? Ledger()
            let queued = (queued[name] ?? 0) + aside { $0.queued[name] }
            let dead = (dead[name] ?? 0) + aside { $0.dead[name] }
            if !ledger.isPlausible {
                report.found(.ledger, "the ledger of \(name) has numbers that cannot be")
            } else if !ledger.isClosed {
                report.found(.ledger, "the ledger of \(name) does not add up")
            } else if ledger.queued != queued || ledger.dead != dead {
                report.found(
                    .ledger,
                    "the ledger of \(name) counts \(ledger.queued) queued and \(ledger.dead) dead logs, but "
                        + "the queue has \(queued) and \(dead)"
                )
            }
        }
    }
}
