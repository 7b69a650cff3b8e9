import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct LogHeadTests {
    let directory = TemporaryDirectory()

    private func log(_ directory: TemporaryDirectory) -> String { directory.path + "/queue.db-wal" }

    /// Opens what is left of 300 logs; returns how many are lost.
    private func lost(_ directory: TemporaryDirectory, salvages: Int = 0) throws -> Int64 {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        let ledger = store.status.ledger
        #expect(store.status.salvages == salvages)
        #expect(ledger.isClosed && ledger.accepted == 300)
        #expect(store.store(Batch(stream: .named("a"), logs: logs([1]))) == .stored)
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
            return (0..<count).flatMap { number in
                let page = [UInt8](repeating: UInt8(number), count: 512)
                let start = UInt32(number + 1).bytes + UInt32(7).bytes
                sum.add(start[...])
                sum.add(page[...])
                return start + head.bytes[16..<24] + sum.value.0.bytes + sum.value.1.bytes + page
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
