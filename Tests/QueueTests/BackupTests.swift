import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct BackupTests {
    let directory = TemporaryDirectory()
    let place = TemporaryDirectory()

    private var file: String { place.path + "/backup.db" }

    @Test("A backup of a queue in use has what was stored before it began, and opens as a queue")
    func inUse() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        for number in 0..<50 { _ = store.store(Batch(stream: .named("a"), logs: logs([number]))) }
        let isOver = Locked(false)
        let writer = try Worker("writer") {
            var number = 50
            while !isOver.withLock({ $0 }) {
                _ = store.store(Batch(stream: .named("a"), logs: logs([number])))
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
        let again = try DurableQueue(.small(restored.path), journal: .silent)
        defer { again.close() }
        #expect(again.status.ledger.queued == report.logs && again.status.repairedLogs == 0)
        again.flush("app")
        let packet = Consumer(again).packets(1)[0]
        #expect(try again.contents(of: packet).prefix(50).elementsEqual(0..<50))
        // The gateway goes on.
        #expect(store.store(Batch(stream: .named("a"), logs: logs([7]))) == .stored)
    }

    @Test("A backup stops when a gateway starts, and leaves no file")
    func anotherLife() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        for number in 0..<200 { _ = store.store(Batch(stream: .named("a"), logs: logs([number]))) }
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
        _ = store.store(Batch(stream: .named("a"), logs: logs(0..<10)))
        store.close()
        writeFile(file, [1, 2, 3])
        let taken = #expect(throws: QueueError.self) { try Backup.run(directory.path, to: file) }
        #expect(taken?.description.contains("is there already") == true)
        #expect(readFile(file) == [1, 2, 3])
        let nowhere = place.path + "/missing/backup.db"
        let lost = #expect(throws: QueueError.self) {
            try Backup.run(directory.path, to: nowhere)
        }
        #expect(lost?.kind == .directory)
        #expect(lost?.description.hasPrefix("\(nowhere) cannot be written: open: No such") == true)

        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        try connection.execute("UPDATE rows SET raw = raw + 1")
        let other = place.path + "/other.db"
        let damaged = #expect(throws: QueueError.self) { try Backup.run(directory.path, to: other) }
        #expect(damaged?.kind == .corrupt)
        #expect(place.names == ["backup.db"])
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
