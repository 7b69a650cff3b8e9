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

    /// Walks over the rows in the order of the file. Proves each row's checksum and opens its
    /// block, one row at a time in memory.
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

    /// Counts the row in its packet. A stream's packets follow each other, and rows behind the last
    /// packet are still waiting.
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
