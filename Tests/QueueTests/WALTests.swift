import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct LogScanTests {
    let directory = TemporaryDirectory()

    private func frameBytes(_ log: [UInt8]) -> Int {
        24 + log[8..<12].reduce(0) { $0 << 8 | Int($1) }
    }

    @Test("A damaged page in the log costs none of the commits behind it")
    func damagedPage() throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db-wal"
        var log = readFile(path)
        let frames = (log.count - 32) / frameBytes(log)
        log[32 + frames / 2 * frameBytes(log) + 500] ^= 1
        writeFile(path, log)
        let store = try copy.queue()
        #expect(store.status.salvages == 1)
        #expect(store.status.ledger.isClosed)
        #expect(store.status.ledger.accepted == 300)
        #expect(copy.names.contains { $0.hasPrefix("queue.corrupt-") && $0.hasSuffix(".log") })
        #expect(!copy.names.contains { $0.hasSuffix(".mended") })
    }

    @Test("A last transaction that a power cut tore is no damage", arguments: [true, false])
    func tornEnd(isCutOff: Bool) throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db-wal"
        var log = readFile(path)
        if isCutOff { log.removeLast(100) } else { log[log.count - 100] ^= 1 }
        writeFile(path, log)
        let store = try copy.queue()
        #expect(store.status.salvages == 0)
        #expect(store.status.ledger.isClosed)
    }

    /// Where the frames of each transaction begin.
    private func transactions(_ log: [UInt8]) -> [[Int]] {
        var all: [[Int]] = [[]]
        for start in stride(from: 32, to: log.count, by: frameBytes(log)) {
            guard log[start + 8..<start + 16] == log[16..<24] else { break }
            all[all.count - 1].append(start)
            if log[start + 4..<start + 8] != [0, 0, 0, 0] { all.append([]) }
        }
        return all.dropLast()
    }

    @Test(
        "Damage at the end of the last transaction but one is no torn end of the last",
        arguments: [false, true]
    )
    func damagedBeforeLast(isShifted: Bool) throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db-wal"
        var log = readFile(path)
        let end = try #require(transactions(log).dropLast().last?.last)
        // A page as the file system has it goes over the end of the frame before, so that the one
        // behind it cannot be proved either.
        let start = end - (isShifted ? 3600 : 0)
        for index in start..<start + frameBytes(log) { log[index] ^= 0x55 }
        writeFile(path, log)
        let store = try copy.queue()
        #expect(store.status.salvages == 1)
        let ledger = store.status.ledger
        #expect(ledger.isClosed && ledger.accepted == 300)
        #expect(ledger.queued >= 270 && ledger.discarded == 300 - ledger.queued)
    }

    @Test("No remainder of the last transaction after a power cut counts as a transaction")
    func tornAnywhere() throws {
        let copy = try directory.fillLog()
        let whole = readFile(copy.path + "/queue.db-wal")
        let last = try #require(transactions(whole).last)
        #expect(last.count > 1)
        for lost in 1..<1 << last.count {
            let torn = copy.copy()
            var log = whole
            for (bit, start) in last.enumerated() where lost >> bit & 1 == 1 {
                for index in start..<start + frameBytes(log) { log[index] = 0 }
            }
            writeFile(torn.path + "/queue.db-wal", log)
            let store = try torn.queue()
            #expect(store.status.salvages == 0, "\(lost)")
            #expect(store.status.ledger.isClosed && store.status.ledger.accepted == 290, "\(lost)")
        }
    }

    @Test("A torn transaction is wiped in its place, so the next torn one is no damage either")
    func tornTwice() throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db-wal"
        let directory = DataDirectory(path: copy.path)
        for round in 0..<3 {
            var log = readFile(path)
            let all = transactions(log)
            let last = try #require(all.last)
            #expect(last.count > 1, "\(round)")
            for index in last[0]..<last[0] + frameBytes(log) { log[index] = 0 }
            writeFile(path, log)
            #expect(try directory.checkFiles(isSynced: true, .silent) == nil, "\(round)")
            let seen = readFile(path)
            // The room that acknowledgements may need on a full disk.
            #expect(seen.count == log.count && transactions(seen).count == all.count - 1)
            // Less than was torn lies before the rest of it.
            let connection = try Connection(copy.path + "/queue.db", .readWrite)
            try connection.execute(
                "BEGIN; INSERT INTO settings VALUES ('\(round)', 1); UPDATE ledger SET dead = dead + 1; COMMIT"
            )
        }
    }

    @Test("A page that was spilled, and comes again at the end, is of one transaction")
    func spilled() throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db-wal"
        do {
            let connection = try Connection(copy.path + "/queue.db", .readWrite)
            try connection.execute(
                """
                PRAGMA cache_size = 10;
                BEGIN;
                WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                INSERT INTO rows SELECT 9000000 + i, 1, 1, 1, 1, 1, 1, zeroblob(7000), 0 FROM n;
                UPDATE rows SET checksum = 2 WHERE id BETWEEN 9000001 AND 9000150;
                UPDATE rows SET checksum = 2 WHERE id = 9000200;
                COMMIT
                """
            )
        }
        var log = readFile(path)
        let last = try #require(transactions(log).last)
        let pages = last.map { Array(log[$0..<$0 + 4]) }
        #expect(last.count > 200 && pages.dropLast().contains(pages[last.count - 1]))
        let torn = last[last.count - 20]
        for index in torn..<torn + frameBytes(log) { log[index] = 0 }
        writeFile(path, log)
        let store = try copy.queue()
        #expect(store.status.salvages == 0 && store.status.ledger.accepted == 300)
    }

    @Test("A database that was cut off is found although its log makes it long again")
    func cutOff() throws {
        _ = try directory.fillLog()
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db"
        let bytes = readFile(path)
        writeFile(path, Array(bytes.prefix(bytes.count / 2)))
        let store = try copy.queue()
        #expect(store.status.salvages == 1)
        #expect(store.status.ledger.isClosed)
    }

    private func log(_ directory: TemporaryDirectory) -> String { directory.path + "/queue.db-wal" }

    /// Opens what is left of 300 logs; returns how many are lost.
    private func lost(_ directory: TemporaryDirectory, salvages: Int = 0) throws -> Int64 {
        let store = try directory.queue()
        defer { store.close() }
        let ledger = store.status.ledger
        #expect(store.status.salvages == salvages)
        #expect(ledger.isClosed && ledger.accepted == 300)
        #expect(store.store(Batch(logs([1]))) == .stored)
        return ledger.discarded
    }

    @Test("A bit that flipped in the head of the log costs nothing, and is put right in its place")
    func flippedBit() throws {
        let whole = try directory.fillLog()
        for place in 0..<WALHeader.count {
            let copy = whole.copy()
            var bytes = readFile(log(copy))
            bytes[place] ^= 1 << (place % 8)
            writeFile(log(copy), bytes)
            #expect(try lost(copy) == 0, "byte \(place)")
            #expect(!copy.names.contains { $0.hasPrefix("queue.corrupt-") })
        }
    }

    @Test(
        "A head that is gone costs nothing, and what is lost with it of the first frames is counted",
        arguments: [32, 512, 8192]
    )
    func zeroedStart(count: Int) throws {
        let copy = try directory.fillLog()
        let bytes = readFile(log(copy))
        writeFile(log(copy), [UInt8](repeating: 0, count: count) + bytes[count...])
        let lost = try lost(copy, salvages: count > WALHeader.count ? 1 : 0)
        #expect(lost == 0 || count > WALHeader.count)
    }

    @Test("The WAL header that is found equals the lost one", arguments: [0, 1, 5])
    func same(rounds: Int) throws {
        for _ in 0..<rounds { _ = try directory.fillLog() }
        let copy = try directory.fillLog()
        let bytes = readFile(log(copy))
        let head = WALHeader.rebuilt(reader(bytes))
        #expect(head?.bytes == Array(bytes[..<WALHeader.count]))
        #expect(WALHeader(Array(bytes[..<WALHeader.count])) != nil)
    }

    @Test("Frames of an older round behind a short one do not count")
    func olderRound() throws {
        let head = WALHeader(pageBytes: 512, salt: [0, 0, 0, 9, 1, 2, 3, 4])
        func frames(_ count: Int, _ head: WALHeader) -> [UInt8] {
            var sum = head.sum
            return (0..<count).flatMap { number -> [UInt8] in
                let page = [UInt8](repeating: UInt8(number), count: 512)
                let start = UInt32(number + 1).bytes + UInt32(7).bytes
                sum.add(start[...])
                sum.add(page[...])
                let check: [UInt8] = sum.value.0.bytes + sum.value.1.bytes
                return start + Array(head.bytes[16..<24]) + check + page
            }
        }
        let older = WALHeader(pageBytes: 512, salt: [0, 0, 0, 8, 5, 6, 7, 8])
        let frameBytes = 24 + 512
        let left = head.bytes + frames(2, head) + frames(9, older).dropFirst(2 * frameBytes)
        #expect(WALHeader.rebuilt(reader(left))?.bytes == head.bytes)
        // The first frame is gone as well: there is no pair of this round.
        let gone = [UInt8](repeating: 0, count: 32 + frameBytes) + left.dropFirst(32 + frameBytes)
        #expect(WALHeader.rebuilt(reader(gone)) == nil)
    }

    @Test(
        "An impossible WAL header is refused even if its checksum is right",
        arguments: [513, 1000, 65_000]
    )
    func pageBytes(count: Int) {
        #expect(WALHeader(WALHeader(pageBytes: count).bytes) == nil)
    }

    @Test("The order of bytes does not matter", arguments: [false, true])
    func order(isBigEndian: Bool) {
        let head = WALHeader(pageBytes: 1024, isBigEndian: isBigEndian, salt: Array(1...8))
        let page = (0..<1024).map { UInt8($0 % 251) }
        var sum = head.sum
        sum.add((UInt32(7).bytes + UInt32(9).bytes)[...])
        sum.add(page[...])
        let frame =
            UInt32(7).bytes + UInt32(9).bytes + Array(1...8) + sum.value.0.bytes + sum.value.1.bytes
        #expect(WALHeader.rebuilt(reader(head.bytes + frame + page))?.bytes == head.bytes)
    }

    @Test("A file that is no WAL has no WAL header")
    func noLog() {
        var generator = SeededGenerator(seed: 3)
        let noise = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        #expect(WALHeader.rebuilt(reader(noise)) == nil)
        #expect(WALHeader.rebuilt(reader([UInt8](repeating: 0, count: 200_000))) == nil)
        #expect(WALHeader.rebuilt(reader([])) == nil)
    }

    private func reader(_ bytes: [UInt8]) -> (Int, Int) -> [UInt8]? {
        { count, offset in
            offset + count <= bytes.count ? Array(bytes[offset..<offset + count]) : nil
        }
    }
}

extension TemporaryDirectory {
    /// A copy of a queue of 300 logs as a kill leaves it, with much of it in its log.
    func fillLog() throws -> TemporaryDirectory {
        // An idle moment would move the log into the database.
        let store = try queue { $0.tuning.housekeeping = .seconds(60) }
        defer { store.close() }
        for row in 0..<30 {
            #expect(store.store(Batch(logs(row * 10..<row * 10 + 10))) == .stored)
        }
        return copy()
    }
}
