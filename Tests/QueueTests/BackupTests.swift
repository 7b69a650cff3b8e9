import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct BackupTests {
    let directory = TemporaryDirectory()
    let place = TemporaryDirectory()

    private var file: String { place.path + "/backup.db" }

    @Test("A backup of a queue in use has what was stored before it began, and opens as a queue")
    func inUse() throws {
        let store = try directory.queue()
        for number in 0..<50 { _ = store.store(Batch(logs([number]))) }
        let isOver = Locked(false)
        let writer = try Worker("writer") {
            var number = 50
            while !isOver.withLock({ $0 }) {
                _ = store.store(Batch(logs([number])))
                number += 1
            }
        }
        let report = try Backup.run(directory.path, to: file)
        isOver.withLock { $0 = true }
        writer.join()
        #expect(report.isFine && report.logs >= 50)
        #expect(place.names == ["backup.db"])
        var about = stat()
        #expect(stat(file, &about) == 0 && about.st_mode & 0o777 == 0o600)

        let restored = TemporaryDirectory()
        writeFile(restored.path + "/queue.db", readFile(file))
        let again = try restored.queue()
        #expect(again.status.ledger.queued == report.logs && again.status.repairedLogs == 0)
        let packet = Consumer(again).sealed()
        #expect(try again.contents(of: packet).prefix(50).elementsEqual(0..<50))
        // The gateway goes on.
        #expect(store.store(Batch(logs([7]))) == .stored)
    }

    @Test("A backup stops when a gateway starts, and leaves no file")
    func anotherLife() throws {
        let store = try directory.queue()
        for number in 0..<200 { _ = store.store(Batch(logs([number]))) }
        #expect(throws: QueueError.self) {
            try Backup.run(directory.path, to: file, whileSame: { false })
        }
        #expect(place.names == [])
        #expect(try Backup.run(directory.path, to: file).isFine)
    }

    @Test("A queue whose logs are in its WAL can be copied, and stays as it is")
    func inLog() throws {
        let directory = try directory.fillLog()
        let names = directory.names
        let before = names.map { readFile(directory.path + "/" + $0) }
        let report = try Backup.run(directory.path, to: file)
        #expect(report.schema == QueueSchema.migrations.count && report.logs == 300)
        #expect(Set(directory.names) == Set(names + ["sluice.lock"]))
        #expect(names.map { readFile(directory.path + "/" + $0) } == before)
        #expect(try Inspection.run(file) == report.named(file))
    }

    @Test("A backup overwrites nothing, and a damaged queue makes none")
    func refused() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        _ = store.store(Batch(logs(0..<10)))
        store.close()
        writeFile(file, [1, 2, 3])
        let taken = #expect(throws: QueueError.self) { try Backup.run(directory.path, to: file) }
        #expect(taken?.description.contains("is there already") == true)
        #expect(readFile(file) == [1, 2, 3])
        let nowhere = place.path + "/missing/backup.db"
        let lost = #expect(throws: QueueError.self) { try Backup.run(directory.path, to: nowhere) }
        #expect(lost?.kind == .directory)
        #expect(lost?.description.hasPrefix("\(nowhere) cannot be written: open: No such") == true)

        try execute(in: database, "UPDATE rows SET raw = raw + 1")
        let other = place.path + "/other.db"
        let damaged = #expect(throws: QueueError.self) { try Backup.run(directory.path, to: other) }
        #expect(damaged?.kind == .corrupt)
        #expect(place.names == ["backup.db"])
    }

    private var database: String { directory.path + "/queue.db" }

    /// Twelve rows, of which eight are sealed, closed in good order.
    private func fill() throws {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 40, age: .seconds(3600))
        let store = try directory.open(.small(directory.path, packets: limits))
        defer { store.close() }
        for row in 0..<12 {
            let numbers = row * 10..<row * 10 + 10
            _ = store.store(Batch(logs(numbers, filling: 700)))
        }
        _ = Consumer(store).packets(2)
    }

    /// Inspects it, and sees that nothing was changed or left behind.
    private func inspect() throws -> InspectionReport {
        let names = directory.names
        let before = names.map { readFile(directory.path + "/" + $0) }
        let report = try Inspection.run(directory.path)
        #expect(directory.names == names)
        #expect(names.map { readFile(directory.path + "/" + $0) } == before)
        return report
    }

    @Test("A queue is fine whose logs are in its WAL, and stays as it is")
    func inspectsLog() throws {
        let copy = try directory.fillLog()
        for name in ["queue.db", "queue.db-wal"] {
            writeFile("\(directory.path)/\(name)", readFile("\(copy.path)/\(name)"))
        }
        let report = try inspect()
        #expect(report.isFine, "\(report.findings)")
        #expect(report.schema == QueueSchema.migrations.count && report.logs == 300)
        #expect(report.streams == 1 && report.logBytes > 0)
        #expect(report.ledgers["app"]?.queued == 300)
    }

    @Test(
        "What is wrong is named",
        arguments: [
            (
                "UPDATE rows SET payload = zeroblob(size) WHERE id = (SELECT max(id) FROM rows)",
                .rows
            ),
            ("UPDATE rows SET raw = raw + 1 WHERE id = (SELECT max(id) FROM rows)", .rows),
            ("UPDATE rows SET stream = 77 WHERE id = (SELECT max(id) FROM rows)", .rows),
            ("DELETE FROM streams", .packets),
            ("DELETE FROM rows WHERE id = (SELECT max(last_row) FROM packets)", .packets),
            ("DELETE FROM packets WHERE number = (SELECT min(number) FROM packets)", .packets),
            ("UPDATE packets SET first_row = 0", .packets),
            ("UPDATE packets SET logs = logs + 1", .packets),
            ("UPDATE ledger SET queued = 1, accepted = accepted - queued + 1", .ledger),
            ("UPDATE ledger SET delivered = 7", .ledger),
            ("UPDATE ledger SET discarded = -9223372036854775808", .ledger),
            ("UPDATE intake SET received = received + 1", .ledger),
            ("UPDATE intake SET copies = copies + 1, filtered = 0", .ledger),
            ("UPDATE ledger SET skipped = 3", .ledger),
            ("DELETE FROM intake", .ledger),
            ("UPDATE streams SET next_pack = -1", .streams),
            ("INSERT INTO repeats VALUES (3, x'00', 1, 1, x'00')", .repeats),
            (
                "INSERT INTO dead VALUES (99, 'app', 'a', x'', 1, 1, 0, '', '', '', 1, 1, 1, x'00', 0)",
                .deadLetters
            ),
        ] as [(String, InspectionReport.Fault)]
    )
    func damage(sql: String, fault: InspectionReport.Fault) throws {
        try fill()
        #expect(try inspect().isFine)
        try execute(in: database, sql)
        let report = try inspect()
        #expect(report.findings.contains { $0.fault == fault }, "\(report.findings)")
    }

    @Test("Damaged pages are found wherever they are, and reading goes on behind them")
    func flippedBytes() throws {
        try fill()
        let intact = readFile(database)
        for page in 1..<intact.count / 8192 {
            var bytes = intact
            for index in page * 8192 + 4000..<page * 8192 + 4200 { bytes[index] ^= 0xA5 }
            writeFile(database, bytes)
            // Whatever lies there: at the worst nothing does.
            let report = try inspect()
            #expect(report.isFine || report.findings.allSatisfy { !$0.text.isEmpty })
        }
        var bytes = intact
        for index in 8192 * 2..<intact.count { bytes[index] = 0xFF }
        writeFile(database, bytes)
        let report = try inspect()
        #expect(report.findings.contains { $0.fault == .structure || $0.fault == .unreadable })
    }

    @Test(
        "A file that was cut off, or is none of ours, is damaged",
        arguments: [0, 100, 8192, 60_000]
    )
    func cutOff(length: Int) throws {
        try fill()
        let intact = readFile(database)
        writeFile(database, Array(intact.prefix(length)))
        #expect(try !inspect().isFine)
        writeFile(database, Array(repeating: 65, count: length))
        #expect(try !inspect().isFine)
    }

    @Test("An inspection refuses a directory in use and creates no missing one")
    func inspectionRefused() throws {
        _ = try directory.queue()
        let busy = #expect(throws: QueueError.self) { try Inspection.run(directory.path) }
        #expect(busy?.kind == .inUse && busy?.description.contains("sluice backup") == true)
        let file = #expect(throws: QueueError.self) { try Inspection.run(database) }
        #expect(file?.kind == .inUse)
        let empty = TemporaryDirectory()
        let none = #expect(throws: QueueError.self) { try Inspection.run(empty.path) }
        #expect(none?.description.contains("queue.db") == true)
        #expect(empty.names.isEmpty)
    }

    @Test("A newer queue is refused")
    func newer() throws {
        try fill()
        try execute(in: database, "PRAGMA user_version = 99")
        let error = #expect(throws: QueueError.self) { try Inspection.run(directory.path) }
        #expect(error?.kind == .newerSchema)
    }
}

extension InspectionReport {
    /// The same of a file that got another name.
    fileprivate func named(_ path: String) -> InspectionReport {
        var report = InspectionReport(path: path)
        (report.schema, report.bytes, report.logBytes) = (schema, bytes, logBytes)
        (report.streams, report.packets, report.rows) = (streams, packets, rows)
        (report.logs, report.deadLetters, report.repeats) = (logs, deadLetters, repeats)
        (report.ledgers, report.intake) = (ledgers, intake)
        return report
    }
}
