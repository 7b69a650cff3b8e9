import Logs
import Queue
import System
import Testing

@testable import Delivery

@Suite struct PacketLineTests {
    static func lease(_ number: Int64, of shard: Shard = .home) -> Lease {
        Lease(
            SealedPacket(
                id: PacketID(shard: shard, number: number),
                stream: StreamKey(
                    destination: "app",
                    logstore: "l",
                    trailer: GroupTrailer(bytes: [])
                ),
                streamID: .any,
                packID: "p",
                rows: number...number,
                logCount: 1,
                rawBytes: 1,
                oldest: .now,
                recent: [StoredBlock(compressed: [0], rawBytes: 0)],
                lane: Lane(key: "k", sequence: 7),
                isRecovered: true
            )
        )
    }

    func next(_ line: inout PacketLine) -> Int64? { line.next()?.packet.number }

    func take(_ line: inout PacketLine) throws -> Lease {
        let lease = line.next()
        return try #require(lease)
    }

    @Test("An idle outlet asks for one packet, and for more as they come")
    func demand() {
        var line = PacketLine()
        #expect(line.claim(upTo: 10) == 1)
        #expect(line.claim(upTo: 10) == 0)
        line.arrived(Self.lease(1), inFlightMax: 8)
        #expect(line.claim(upTo: 10) == 2)
        line.arrived(Self.lease(2), inFlightMax: 8)
        line.arrived(Self.lease(3), inFlightMax: 8)
        #expect(line.claim(upTo: 10) == 4)
        for number in 4...7 as ClosedRange<Int64> {
            line.arrived(Self.lease(number), inFlightMax: 8)
        }
        #expect(line.claim(upTo: 10) == 3)
        #expect(line.claim(upTo: 10) == 0)
    }

    @Test("Packets that were not asked for leave the outlet at least half of its places")
    func unrequested() throws {
        var line = PacketLine()
        for number in 1...8 as ClosedRange<Int64> {
            let lease = Self.lease(number, of: Shard(number: 1))
            line.arrived(Lease(lease.packet.unrequested), inFlightMax: 8)
        }
        #expect(line.requested == 0)
        #expect(line.claim(upTo: 2) == 1 && line.claim(upTo: 2) == 0)
        #expect(line.claim(upTo: 10) == 4, "one was asked for")
        line.arrived(Self.lease(9), inFlightMax: 8)
        #expect(line.requested == 4)
        // They end in all ways.
        line.ended(try take(&line))
        #expect(line.takeOut([PacketID(shard: Shard(number: 1), number: 2)]).count == 1)
        for _ in 0..<6 { line.ended(try take(&line)) }
        #expect(line.claim(upTo: 10) == 10 - 5)
    }

    @Test("Packets in flight or in line count as claimed, and ended ones are asked for again")
    func claims() {
        var line = PacketLine()
        _ = line.claim(upTo: 2)
        line.arrived(Self.lease(1), inFlightMax: 8)
        #expect(line.claim(upTo: 2) == 1)
        _ = line.next()
        #expect(line.claim(upTo: 2) == 0)
        line.ended(Self.lease(1))
        #expect(line.claim(upTo: 2) == 1, "the next hand-over may be as large as the last one")
        line.forgetRequests()
        #expect(line.claim(upTo: 2) == 1)
    }

    @Test("Failed packets come before new ones, oldest first and without their content")
    func order() throws {
        var line = PacketLine()
        for number in 1...4 as ClosedRange<Int64> {
            line.arrived(Self.lease(number), inFlightMax: 8)
        }
        let first = try take(&line)
        let second = try take(&line)
        #expect(first.packet.recent != nil)
        line.failed(second)
        line.failed(first)
        #expect(line.failedCount == 2)
        let again = try take(&line)
        #expect(again.packet.number == 1)
        #expect(again.packet.recent == nil)
        #expect(again.packet.lane == Lane(key: "k", sequence: 7))
        #expect(again.packet.isRecovered)
        #expect(next(&line) == 2)
        #expect(next(&line) == 3)
        #expect(line.inFlight == 3)
    }

    @Test("A packet that was set aside waits behind all others until one is stored")
    func aside() throws {
        var line = PacketLine()
        for number in 1...3 as ClosedRange<Int64> {
            line.arrived(Self.lease(number), inFlightMax: 8)
        }
        _ = line.setAside(try take(&line))
        #expect(next(&line) == 2)
        line.recall()
        #expect(next(&line) == 1)
        #expect(next(&line) == 3)
        #expect(next(&line) == nil)
    }

    @Test("For packets set aside others are asked for; of too many the oldest goes")
    func asideBound() throws {
        var line = PacketLine()
        var gone: [Int64] = []
        for number in 1...Int64(PacketLine.asideMax) + 5 {
            #expect(line.claim(upTo: 1) == 1)
            line.arrived(Self.lease(number), inFlightMax: 8)
            if let lease = line.setAside(try take(&line)) { gone.append(lease.packet.number) }
        }
        #expect(gone == [1, 2, 3, 4, 5])
        #expect(line.waitingCount == PacketLine.asideMax && line.inFlight == 0)
        // When nothing else is there they take turns among themselves.
        #expect(next(&line) == 6)
        let isFull = line.setAside(Self.lease(6)) != nil
        #expect(!isFull)
        #expect(next(&line) == 7)
    }

    @Test("Packets of two shards may have one number")
    func shards() throws {
        let other = Shard(number: 1)
        var line = PacketLine()
        line.arrived(Self.lease(1), inFlightMax: 8)
        line.arrived(Self.lease(1, of: other), inFlightMax: 8)
        let taken = line.takeOut([PacketID(shard: other, number: 1)])
        #expect(taken.map(\.packet.id) == [PacketID(shard: other, number: 1)])
        let left = try take(&line)
        #expect(left.packet.shard == .home)
        #expect(line.waitingCount == 0)
    }

    @Test("A packet that could not be read counts until it is read again")
    func unreadable() throws {
        var line = PacketLine()
        line.arrived(Self.lease(1), inFlightMax: 8)
        let lease = try take(&line)
        line.keptBack(lease)
        #expect(line.inFlight == 0)
        #expect(line.waitingCount == 1)
        #expect(!line.hasNext)
        #expect(!line.isEmpty)
        line.lineUpAgain(lease)
        #expect(next(&line) == 1)
        line.ended(lease)
        #expect(line.isEmpty)
    }
}

@Suite struct PacketsAheadTests {
    /// Delivery beside a queue whose commits take long. Times are milliseconds. Each packet takes
    /// `work` of a thread that sends one after the other, and the queue gains a packet every
    /// `arrival`.
    struct FullMachine {
        let commit: Int
        let work: Int
        let arrival: Int
        let inFlightMax = 8

        /// Packets sent in so many milliseconds, and those that wait in the queue then.
        func run(for milliseconds: Int) -> (sent: Int, waiting: Int) {
            var line = PacketLine()
            var (sent, waiting, number) = (0, 0, Int64(0))
            var busyUntil: [Int] = []
            var requested = 0
            for now in 0..<milliseconds {
                if now.isMultiple(of: arrival) { waiting += 1 }
                while let end = busyUntil.first, end <= now {
                    busyUntil.removeFirst()
                    line.ended(PacketLineTests.lease(0))
                    sent += 1
                }
                if now.isMultiple(of: commit) {
                    let given = min(requested, waiting)
                    (requested, waiting) = (requested - given, waiting - given)
                    for _ in 0..<given {
                        number += 1
                        line.arrived(PacketLineTests.lease(number), inFlightMax: inFlightMax)
                    }
                }
                while line.inFlight < inFlightMax, line.next() != nil {
                    busyUntil.append(max(now, busyUntil.last ?? 0) + work)
                }
                requested += line.claim(
                    upTo: inFlightMax + line.ahead.count(inFlightMax: inFlightMax)
                )
            }
            return (sent, waiting)
        }
    }

    @Test("Delivery keeps up with a queue whose commits take long", arguments: [2, 10, 20, 40, 60])
    func slowCommits(commit: Int) {
        // In 40 ms 13 packets come. Without PacketsAhead at most 10 would be handed over.
        let (sent, waiting) = FullMachine(commit: commit, work: 2, arrival: 3).run(for: 3000)
        #expect(sent >= 900, "of 1000 that came")
        #expect(waiting <= 3 * (commit / 3 + 1))
    }

    @Test("The quarter ahead is not exceeded while packets are left")
    func quickCommits() {
        var ahead = PacketsAhead()
        for _ in 0..<10 {
            ahead.handOverBegan(with: .waiting)
            ahead.gotAll(inFlightMax: 8)
        }
        #expect(!ahead.isShort)
        #expect(ahead.count(inFlightMax: 8) == 2)
        #expect(ahead.count(inFlightMax: 1) == 1)
    }

    @Test("An outlet that ran out asks for more, up to twice as many as may be in flight")
    func growth() {
        var ahead = PacketsAhead()
        var counts: [Int] = []
        for _ in 0..<5 {
            ahead.handOverBegan(with: .none)
            ahead.gotAll(inFlightMax: 8)
            counts.append(ahead.count(inFlightMax: 8))
        }
        #expect(counts == [3, 4, 6, 10, 16])
        for _ in 0..<16 { ahead.handOverBegan(with: .waiting) }
        #expect(!ahead.isShort)
        // The queue had no more to give.
        ahead.handOverBegan(with: .none)
        #expect(ahead.count(inFlightMax: 8) == 2)
    }
}
