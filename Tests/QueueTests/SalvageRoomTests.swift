import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A salvage that the disk has no room for.
@Suite(.timeLimit(.minutes(10))) struct SalvageRoomTests {
    let directory = TemporaryDirectory()

    private var database: String { directory.path + "/queue.db" }

    /// Small enough that a salvage has many steps; the disk has `room` more than there is.
    private func configuration(
        of other: TemporaryDirectory? = nil,
        room: Int? = nil
    ) -> QueueConfiguration {
        let directory = other ?? directory
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600))
        var configuration = QueueConfiguration.small(directory.path, packets: limits)
        configuration.tuning.checkpointBytes = 256 << 10
        configuration.tuning.transactionBytes = 128 << 10
        configuration.tuning.rowBytes = 16 << 10
        if let room { configuration.tuning.diskBytes = directory.takenBytes + room }
        return configuration
    }

    /// 3,000 logs of a thousand bytes in two streams, three packets of a hundred that delivery
    /// holds, and ten dead letters; closed in good order. The ledger is damaged, so that all can be
    /// read and must be copied.
    private func fill(damaged: Bool = true) throws -> (packets: [SealedPacket], ledger: Ledger) {
        let store = try directory.open(configuration())
        for row in 0..<300 {
            let stream = StreamKey.named(row % 2 == 0 ? "even" : "odd")
            let logs = logs(row * 10..<row * 10 + 10, noise: 995)
            #expect(store.store(Batch(stream: stream, logs: logs)) == .stored)
        }
        let dead = timed(9000..<9010, at: UInt32(WallTime.now.seconds), filling: 900)
        #expect(store.store(.dead(dead, .named("even"))) == .stored)
        let packets = Consumer(store).packets(3)
        let ledger = store.status.ledger
        store.close()
        if damaged { try damage() }
        return (packets, ledger)
    }

    private func damage() throws {
        try execute(in: database, "UPDATE ledger SET delivered = -1")
    }

    /// Takes and acknowledges until nothing is queued, or so many packets were taken.
    private func drain(
        _ store: DurableQueue,
        atMost most: Int = .max
    ) throws -> (numbers: [Int], packs: [String]) {
        let consumer = Consumer(store)
        var (numbers, packs): ([Int], [String]) = ([], [])
        while store.status.ledger.queued > 0, packs.count < most {
            store.request(4, for: "app")
            store.flush("app")
            guard let packet = consumer.nextSoon() else { continue }
            // Closed while more is copied.
            while true {
                do {
                    numbers += try store.contents(of: packet)
                    break
                } catch {
                    usleep(500)
                }
            }
            packs.append(packet.packID)
            store.end(packet, .stored)
        }
        return (numbers, packs)
    }

    private var copies: [String] {
        directory.names.filter { $0.hasPrefix("queue.corrupt-") && $0.hasSuffix(".db") }
    }

    private var marks: [String] { directory.names.filter { $0.hasSuffix("-unsaved") } }

    @Test(
        "A salvage copies what fits, and the rest when logs have left; nothing is lost or repeated"
    )
    func followsAsLogsLeave() throws {
        let (sealed, before) = try fill()
        let store = try directory.open(configuration(room: 1_500_000))
        let status = store.status
        #expect(status.salvages == 1 && status.asideLogs > 1000 && status.damagedCopies == 1)
        #expect(status.ledger == before)
        #expect(status.destinations["app"]?.imbalance == 0)
        #expect(marks.count == 1)

        let (numbers, packs) = try drain(store)
        #expect(numbers.count == 3000 && Set(numbers) == Set(0..<3000))
        #expect(Set(packs).isSuperset(of: sealed.map(\.packID)))
        for parity in 0...1 {
            // Within a stream in order.
            let own = numbers.filter { $0 / 10 % 2 == parity }
            #expect(own == own.sorted())
        }
        store.wait { $0.asideLogs == 0 }
        #expect(store.status.salvagedLogs == 3010 && store.status.lostLogs == 0)
        #expect(try store.deadNumbers() == Array(9000..<9010))
        #expect(store.status.ledger.isClosed && store.status.ledger.discarded == 0)
        #expect(marks.isEmpty)
    }

    @Test("A kill in the middle of it loses and repeats nothing")
    func killed() throws {
        _ = try fill()
        var configuration = configuration(room: 1_500_000)
        let bytes = configuration.tuning.diskBytes
        let first = try directory.open(configuration)
        let before = try drain(first, atMost: 1)
        first.wait { $0.ledger.delivered == 100 }
        let copy = directory.copy()
        first.close()

        configuration = self.configuration(of: copy)
        configuration.tuning.diskBytes = bytes
        let again = try directory.open(configuration)
        #expect(again.status.salvages == 0 && again.status.repairedLogs == 0)
        #expect(again.status.ledger.queued == 2900)
        let after = try drain(again)
        #expect((before.numbers + after.numbers).sorted() == Array(0..<3000))
        #expect(again.status.ledger.isClosed && again.status.ledger.discarded == 0)
    }

    @Test("A queue that is damaged again before all is copied keeps what is still to come")
    func damagedAgain() throws {
        _ = try fill()
        let configuration = configuration(room: 1_500_000)
        let first = try directory.open(configuration)
        let before = try drain(first, atMost: 1)
        first.wait { $0.ledger.delivered == 100 }
        #expect(first.status.asideLogs > 0)
        first.close()
        try damage()
        let second = try directory.open(self.configuration())
        #expect(second.status.salvages == 1)
        second.wait { $0.asideLogs == 0 }
        let after = try drain(second)
        #expect((before.numbers + after.numbers).sorted() == Array(0..<3000))
        #expect(second.status.ledger.isClosed && second.status.ledger.discarded == 0)
        #expect(second.status.ledger.accepted == 3010)
        #expect(marks.isEmpty)
    }

    @Test("What was in a file that is gone is counted as discarded")
    func fileIsGone() throws {
        let (_, ledger) = try fill()
        let first = try directory.open(configuration(room: 1_500_000))
        let here = 3010 - first.status.asideLogs
        first.close()
        for name in copies { unlink("\(directory.path)/\(name)") }
        let again = try directory.open(configuration())
        again.wait { $0.asideLogs == 0 }
        #expect(again.status.ledger.accepted == ledger.accepted && again.status.ledger.isClosed)
        #expect(again.status.ledger.discarded == 3010 - Int64(here))
        #expect(again.status.lostLogs == 3010 - here)
        #expect(try drain(again).numbers.count == again.status.ledger.delivered)
    }

    @Test("A salvage in steps copies the same content as one at once", arguments: 0..<8)
    func sameInSteps(round: Int) throws {
        _ = try fill(damaged: false)
        var bytes = readFile(database)
        var generator = SeededGenerator(seed: UInt64(round))
        for _ in 0...(2 * round) {
            let place = Int.random(in: 8192..<bytes.count, using: &generator)
            let length = Int.random(in: 1...4000, using: &generator)
            for index in place..<min(bytes.count, place + length) {
                bytes[index] = UInt8.random(in: 0...255, using: &generator)
            }
        }
        writeFile(database, bytes)
        try? damage()
        let atOnce = directory.copy()
        func saved(
            _ place: TemporaryDirectory,
            room: Int?
        ) throws -> (numbers: [Int], ledger: Ledger) {
            let store = try place.open(configuration(of: place, room: room))
            defer { store.close() }
            #expect(store.status.ledger.isClosed)
            #expect((store.status.asideLogs > 0) == (room != nil))
            let numbers = try drain(store).numbers
            store.wait { $0.asideLogs == 0 }
            return (numbers.sorted(), store.status.ledger)
        }
        let all = try saved(atOnce, room: nil)
        let steps = try saved(directory, room: 1_500_000)
        #expect(steps.numbers == all.numbers)
        #expect(steps.ledger == all.ledger)
        #expect(Set(steps.numbers).count == steps.numbers.count)
    }

    @Test("Few damaged files are kept, and none is deleted that has the only copy of logs")
    func copiesAreBounded() throws {
        _ = try fill()
        for round in 0..<6 {
            let store = try directory.open(configuration())
            #expect(store.status.salvages == 1)
            #expect(copies.count == min(round + 1, DataDirectory.damagedCopiesMax))
            #expect(store.status.damagedCopies == copies.count)
            #expect(store.status.damagedCopiesRemoved == (round < 3 ? 0 : 1))
            store.close()
            try damage()
        }
        let names = copies
        // This one does not fit.
        let store = try directory.open(configuration(room: 1_500_000))
        #expect(store.status.asideLogs > 0)
        let kept = try #require(marks.first).dropLast("-unsaved".count)
        #expect(!names.contains(String(kept)) && copies.contains(String(kept)))
    }

    @Test("A copy that cannot be opened is left alone for a minute, and its logs wait")
    func cannotBeOpened() throws {
        _ = try fill()
        try directory.open(configuration(room: 1_500_000)).close()
        let copy = "\(directory.path)/\(try #require(copies.first))"
        rename(copy, copy + ".away")
        mkdir(copy, 0o700)
        let lines = Awaited<String>()
        let configuration = configuration()
        let owner = try QueueOwner(
            configuration,
            QueueHandle(configuration),
            lines.journal(.warning)
        )
        let before = try #require(owner.store).acknowledgements.remainders
        #expect(before.count == 1 && before[0].logs > 0)
        owner.keepHouse()
        #expect(lines.take(1)[0].contains("cannot be opened"))
        let next = try #require(owner.keeper.salvager.nextAttempt(of: before[0].file))
        #expect(next > .now + .seconds(50))
        #expect(owner.store?.acknowledgements.remainders == before)
        for _ in 0..<3 { owner.keepHouse() }
        #expect(lines.count == 0)

        rmdir(copy)
        rename(copy + ".away", copy)
        owner.keeper.salvager.resetAttempts()
        owner.keepHouse()
        #expect(owner.store?.acknowledgements.remainders.isEmpty == true)
        #expect(owner.store?.destinations.named("app").ledger.queued == 3000)
    }

    @Test("An empty queue goes on copying into the room in its own files, on a disk without any")
    func roomInFiles() throws {
        _ = try fill()
        var configuration = configuration(room: 1_500_000)
        configuration.tuning.spareBytes = 8 << 20
        let arrived = Awaited<SealedPacket>()
        let owner = try QueueOwner(configuration, QueueHandle(configuration), .silent)
        owner.handle.post(.connect { for packet in $0.packets { arrived.put(packet) } })
        owner.handle.post(.flush("app"))
        owner.handle.post(.packets(1000, of: .named("app-log")))
        for _ in 0..<2 {
            owner.takeTurn()
            for packet in arrived.take(arrived.count) {
                owner.handle.post(.end(packet.id, .stored))
            }
        }
        let store = try #require(owner.store)
        #expect(store.weight.rows == 0 && store.acknowledgements.remainders.count == 1)
        let before = store.acknowledgements.remainders[0].savedLogs
        owner.keeper.room.limit(to: 0)
        owner.keepHouse()
        #expect(
            try #require(owner.store).acknowledgements.remainders.first.map(\.savedLogs) ?? 3010
                > before
        )
    }

    @Test("A copy that cannot be opened keeps no other one waiting")
    func otherCopy() throws {
        _ = try fill()
        try directory.open(configuration(room: 1_500_000)).close()
        try damage()
        try directory.open(configuration(room: 600_000)).close()
        let configuration = configuration()
        let owner = try QueueOwner(configuration, QueueHandle(configuration), .silent)
        let before = try #require(owner.store).acknowledgements.remainders
        try #require(before.count > 1)
        let copy = "\(directory.path)/\(before[0].file)"
        rename(copy, copy + ".away")
        mkdir(copy, 0o700)
        for _ in 0..<3 { owner.keepHouse() }
        #expect(owner.store?.acknowledgements.remainders == [before[0]])
    }

    @Test("On a disk that refuses logs damaged files that were copied go")
    func copiesMakeRoom() throws {
        _ = try fill()
        try directory.open(configuration()).close()
        #expect(copies.count == 1 && marks.isEmpty)
        let store = try directory.open(configuration(room: 8192))
        store.wait { $0.admission == .open }
        #expect(copies.isEmpty && store.status.damagedCopiesRemoved == 1)
        let more = logs(5000..<5010, noise: 995)
        #expect(store.store(Batch(stream: .named("even"), logs: more)) == .stored)
    }
}
