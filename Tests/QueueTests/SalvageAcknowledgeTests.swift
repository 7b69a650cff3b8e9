import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Delivery holds packets while their queue is rebuilt, and SLS stores them all the same.
@Suite(.timeLimit(.minutes(10))) struct SalvageAcknowledgeTests {
    let directory = TemporaryDirectory()
    private let arrived = Awaited<SealedPacket>()

    private func open() throws -> QueueOwner {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600))
        var configuration = QueueConfiguration.small(directory.path, packets: limits)
        configuration.tuning.checkpointBytes = 256 << 10
        let owner = try QueueOwner(configuration, QueueHandle(configuration), .silent)
        owner.handle.post(
            .connect { [arrived] in for packet in $0.packets { arrived.put(packet) } }
        )
        return owner
    }

    /// Stores so many rows of ten logs, and has so many packets of a hundred handed over.
    private func fill(_ owner: QueueOwner, rows: Int, packets: Int) -> [SealedPacket] {
        for row in 0..<rows {
            let batch = Batch(logs(row * 10..<row * 10 + 10, noise: 1000))
            owner.append(batch)
            owner.takeTurn()
        }
        owner.handle.post(.packets(packets, of: .named("app-log")))
        owner.takeTurn()
        return arrived.take(packets)
    }

    private func loseFirstRow(of packet: SealedPacket) throws {
        try execute(
            in: directory.path + "/queue.db",
            "UPDATE rows SET payload = zeroblob(size) WHERE id = \(packet.rows.lowerBound)"
        )
    }

    private func salvage(_ owner: QueueOwner) {
        for _ in 0..<2 where owner.keeper.salvager.counts.salvages == 0 {
            owner.failed(.damage("a test"))
            #expect(reopens(owner))
        }
        #expect(owner.keeper.salvager.counts.salvages == 1)
    }

    private func acknowledge(_ packets: [SealedPacket], _ owner: QueueOwner) {
        for packet in packets { owner.handle.post(.end(packet.id, .stored)) }
        owner.takeTurn()
    }

    private func ledger(_ owner: QueueOwner) throws -> Ledger {
        try #require(owner.store).destinations.named("app").ledger
    }

    @Test("Rows that wait, of a packet that was taken apart, are delivered when SLS has stored it")
    func waitingRows() throws {
        let owner = try open()
        let packet = fill(owner, rows: 12, packets: 1)[0]
        try loseFirstRow(of: packet)
        salvage(owner)
        #expect(try ledger(owner).discarded == 10 && ledger(owner).queued == 110)
        acknowledge([packet], owner)
        let found = try ledger(owner)
        #expect(found.delivered == 90 && found.queued == 20 && found.isClosed)
        #expect(owner.store?.weight.rows == 2 && owner.delivery.packets.areAllWhole)
        // A second word of it changes nothing.
        acknowledge([packet], owner)
        #expect(try ledger(owner) == found)
    }

    @Test("So are rows that were sealed again, and others in their packet go out without them")
    func sealedRows() throws {
        let owner = try open()
        let packets = fill(owner, rows: 30, packets: 3)
        for packet in packets[..<2] { try loseFirstRow(of: packet) }
        salvage(owner)
        // The rows of both lie before the third: ten in one packet, eight in another.
        #expect(owner.store?.packets.count == 3)
        acknowledge([packets[0]], owner)
        let found = try ledger(owner)
        #expect(found.delivered == 90 && found.queued == 190 && found.discarded == 20)
        #expect(found.isClosed)
        let logs = owner.store?.packets.all.map(\.record.logs).sorted()
        #expect(logs == [10, 80, 100])
        acknowledge([packets[2], packets[1]], owner)
        #expect(try ledger(owner).delivered == 280 && ledger(owner).queued == 0)
        #expect(owner.store?.weight.rows == 0 && owner.store?.weight.bytes == 0)
    }

    @Test("What delivery holds in a new packet is left to that one")
    func heldRows() throws {
        let owner = try open()
        let packets = fill(owner, rows: 20, packets: 2)
        try loseFirstRow(of: packets[0])
        salvage(owner)
        owner.handle.post(.packets(1, of: .named("app-log")))
        owner.takeTurn()
        let again = arrived.take(1)[0]
        #expect(again.logCount == 90)
        acknowledge([packets[0]], owner)
        #expect(try ledger(owner).delivered == 0 && ledger(owner).queued == 190)
        acknowledge([again, packets[1]], owner)
        #expect(try ledger(owner).delivered == 190 && ledger(owner).queued == 0)
    }

    @Test("A packet that SLS has refused meanwhile is not taken for stored")
    func refused() throws {
        let owner = try open()
        let packet = fill(owner, rows: 10, packets: 1)[0]
        try loseFirstRow(of: packet)
        salvage(owner)
        owner.handle.post(.end(packet.id, .isolate(DeathReason(code: "A", message: "m"))))
        owner.takeTurn()
        #expect(owner.delivery.packets.areAllWhole)
        acknowledge([packet], owner)
        #expect(try ledger(owner).delivered == 0 && ledger(owner).queued == 90)
    }

    /// On a disk that has room for a part of what is damaged. Returns what is left to copy.
    private func salvagePart(_ owner: QueueOwner) throws -> Remainder {
        owner.keeper.room.limit(to: directory.takenBytes + 1_500_000)
        salvage(owner)
        return try #require(owner.store?.acknowledgements.remainders.first)
    }

    private func copyRest(_ owner: QueueOwner) {
        owner.keeper.room.limit(to: nil)
        owner.keepHouse()
        #expect(owner.store?.acknowledgements.remainders.isEmpty == true)
    }

    @Test("Packets that delivery holds are not handed over again when they are copied later")
    func copiedLater() throws {
        let owner = try open()
        let packets = fill(owner, rows: 200, packets: 20)
        let remainder = try salvagePart(owner)
        #expect(remainder.phase == .packets && owner.delivery.packets.numbers.count == 20)
        copyRest(owner)
        #expect(owner.delivery.packets.numbers.count == 20)
        owner.handle.post(.packets(20, of: .named("app-log")))
        owner.takeTurn()
        #expect(arrived.count == 0)
        acknowledge(packets, owner)
        #expect(try ledger(owner).delivered == 2000 && ledger(owner).queued == 0)
    }

    @Test(
        "Rows of a packet that SLS stored are not copied later where only its record is lost",
        arguments: [1, 20]
    )
    func lostRecord(count: Int) throws {
        let owner = try open()
        let packets = fill(owner, rows: 200, packets: 20)
        let lost = packets.prefix(count).map { "\($0.number)" }.joined(separator: ", ")
        try Connection(directory.path + "/queue.db", .readWrite)
            .execute("DELETE FROM packets WHERE number IN (\(lost))")
        // Without any record the rows come first.
        #expect(try salvagePart(owner).phase == (count == 1 ? .packets : .rows))
        acknowledge(Array(packets.prefix(count)), owner)
        // A second word of them changes nothing.
        acknowledge(Array(packets.prefix(count)), owner)
        copyRest(owner)
        acknowledge(Array(packets.dropFirst(count)), owner)
        #expect(try ledger(owner).delivered == 2000 && ledger(owner).queued == 0)
        #expect(owner.store?.weight.rows == 0 && owner.keeper.salvager.counts.lostLogs == 0)
    }

    @Test("What a salvage has not copied yet is not forgotten when the next database is lost too")
    func lostAgain() throws {
        let remainder: Remainder
        do {
            let owner = try open()
            _ = fill(owner, rows: 200, packets: 20)
            remainder = try salvagePart(owner)
        }
        for end in ["-wal", "-shm"] { unlink(directory.path + "/queue.db" + end) }
        writeFile(directory.path + "/queue.db", randomBytes(64 << 10))
        let owner = try open()
        #expect(
            owner.keeper.salvager.counts.salvages == 1
                && owner.store?.acknowledgements.remainders == [remainder]
        )
        #expect(remainder.logs > 0)
        #expect(try ledger(owner).queued == remainder.logs && ledger(owner).isClosed)
        owner.keepHouse()
        #expect(
            owner.store?.acknowledgements.remainders.isEmpty == true
                && owner.keeper.salvager.counts.lostLogs == 0
        )
        #expect(try ledger(owner).queued == remainder.logs && ledger(owner).isClosed)
        #expect(owner.store?.packets.all.isEmpty == false)
    }
}
