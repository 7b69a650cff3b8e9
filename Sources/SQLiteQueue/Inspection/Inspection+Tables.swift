import Logs
import Queue
import SQLite

/// A packet and the sums of its rows that were found.
struct PacketTally {
    let record: PacketRecord
    var logs = 0
    var raw = 0
}

extension Inspection {
    mutating func readStreams() {
        read("*", of: "streams", key: "id") { inspection, row in
            inspection.report.streams += 1
            do throws(SQLiteError) {
                let record = try StreamRecord(row)
                inspection.streams[record.id] = record.key
            } catch {
                inspection.report.found(.streams, "stream \(row.integer(0)): \(error)")
            }
        }
    }

    mutating func readPackets() {
        read("*", of: "packets", key: "number") { inspection, row in
            inspection.report.packets += 1
            do throws(SQLiteError) {
                let record = try PacketRecord(row)
                inspection.packets[record.stream, default: []].append(PacketTally(record: record))
            } catch {
                inspection.report.found(.packets, "packet \(row.integer(0)): \(error)")
            }
        }
        for stream in packets.keys {
            packets[stream]?.sort { $0.record.rows.lowerBound < $1.record.rows.lowerBound }
        }
    }

    /// Walks over the rows in the order of the file and opens each block, one at a time in memory.
    mutating func readRows() {
        read(StoredRow.columns, of: "rows", key: "id") { inspection, statement in
            let row = StoredRow(statement)
            inspection.report.rows += 1
            guard row.isIntact else {
                return inspection.report.found(
                    .rows,
                    "row \(row.record.id) has changed on the disk"
                )
            }
            inspection.report.logs += Int64(row.record.logs)
            guard let stream = inspection.streams[row.stream] else {
                return inspection.report.found(.rows, "row \(row.record.id) belongs to no stream")
            }
            inspection.queued[stream.destination, default: 0] += Int64(row.record.logs)
            let raw = try? LZ4.decompress(row.payload, rawBytes: row.record.raw)
            guard let raw, (try? LogEntries.count(raw)) == row.record.logs else {
                return inspection.report.found(
                    .rows,
                    "row \(row.record.id) should hold \(row.record.logs) logs and does not"
                )
            }
            inspection.assign(row)
        }
    }

    /// Counts the row in its packet. A stream's packets follow each other, and waiting rows them.
    private mutating func assign(_ row: StoredRow) {
        guard var found = packets[row.stream] else { return }
        // If the array stayed in the table too, Swift would copy the whole array for each row.
        packets[row.stream] = nil
        defer { packets[row.stream] = found }
        let behind = found.partition(after: row.record.id)
        guard behind > 0, found[behind - 1].record.rows.contains(row.record.id) else {
            guard behind < found.count else { return }
            return report.found(
                .packets,
                "row \(row.record.id) lies before the last packet of its stream and is in none"
            )
        }
        found[behind - 1].logs += row.record.logs
        found[behind - 1].raw += row.record.raw
    }

    mutating func comparePackets() {
        for (stream, tallies) in packets {
            var last: Int64 = 0
            for tally in tallies {
                let record = tally.record
                if streams[stream] == nil {
                    report.found(.packets, "packet \(record.number) belongs to no stream")
                } else if record.rows.lowerBound <= last {
                    report.found(.packets, "packet \(record.number) shares rows with another")
                } else if tally.logs != record.logs || tally.raw != record.raw {
                    report.found(
                        .packets,
                        "packet \(record.number) should have \(record.logs) logs and has \(tally.logs)"
                    )
                }
                last = record.rows.upperBound
            }
        }
    }
}

extension [PacketTally] {
    /// The number of packets that begin at this row or before it.
    fileprivate func partition(after row: Int64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].record.rows.lowerBound <= row {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}

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
