import Logs
import Queue
import System
import Testing

@testable import Delivery

@Suite struct LeasesTests {
    static func lease(_ number: Int64) -> Lease {
        Lease(
            SealedPacket(
                number: number,
                stream: StreamKey(
                    destination: "app",
                    logstore: "l",
                    trailer: GroupTrailer(bytes: [])
                ),
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

    func next(_ leases: inout Leases) -> Int64? { leases.next()?.packet.number }

    func take(_ leases: inout Leases) throws -> Lease {
        let lease = leases.next()
        return try #require(lease)
    }

    @Test("An idle outlet asks for one packet, and for more as they come")
    func demand() {
        var leases = Leases()
        #expect(leases.demand(upTo: 10) == 1)
        #expect(leases.demand(upTo: 10) == 0)
        leases.arrived(Self.lease(1))
        #expect(leases.demand(upTo: 10) == 2)
        leases.arrived(Self.lease(2))
        leases.arrived(Self.lease(3))
        #expect(leases.demand(upTo: 10) == 4)
        for number in 4...7 as ClosedRange<Int64> { leases.arrived(Self.lease(number)) }
        #expect(leases.demand(upTo: 10) == 3)
        #expect(leases.demand(upTo: 10) == 0)
    }

    @Test("Packets in flight or in line count as claimed, and ended ones are asked for again")
    func claims() {
        var leases = Leases()
        _ = leases.demand(upTo: 2)
        leases.arrived(Self.lease(1))
        #expect(leases.demand(upTo: 2) == 1)
        _ = leases.next()
        #expect(leases.demand(upTo: 2) == 0)
        leases.ended()
        #expect(leases.demand(upTo: 2) == 0, "one is asked for, and nothing else is under way")
        leases.forgetRequests()
        #expect(leases.demand(upTo: 2) == 1)
    }

    @Test("Failed packets come before new ones, oldest first and without their content")
    func order() throws {
        var leases = Leases()
        for number in 1...4 as ClosedRange<Int64> { leases.arrived(Self.lease(number)) }
        let first = try take(&leases)
        let second = try take(&leases)
        #expect(first.packet.recent != nil)
        leases.failed(second)
        leases.failed(first)
        #expect(leases.failedCount == 2)
        let again = try take(&leases)
        #expect(again.packet.number == 1)
        #expect(again.packet.recent == nil)
        #expect(again.packet.lane == Lane(key: "k", sequence: 7))
        #expect(again.packet.isRecovered)
        #expect(next(&leases) == 2)
        #expect(next(&leases) == 3)
        #expect(leases.inFlight == 3)
    }

    @Test("A packet that was set aside waits behind all others until one is stored")
    func aside() throws {
        var leases = Leases()
        for number in 1...3 as ClosedRange<Int64> { leases.arrived(Self.lease(number)) }
        _ = leases.setAside(try take(&leases))
        #expect(next(&leases) == 2)
        leases.recall()
        #expect(next(&leases) == 1)
        #expect(next(&leases) == 3)
        #expect(next(&leases) == nil)
    }

    @Test("For packets set aside others are asked for; of too many the oldest goes")
    func asideBound() throws {
        var leases = Leases()
        var gone: [Int64] = []
        for number in 1...Int64(Leases.asideMax) + 5 {
            #expect(leases.demand(upTo: 1) == 1)
            leases.arrived(Self.lease(number))
            if let lease = leases.setAside(try take(&leases)) { gone.append(lease.packet.number) }
        }
        #expect(gone == [1, 2, 3, 4, 5])
        #expect(leases.waitingCount == Leases.asideMax && leases.inFlight == 0)
        // When nothing else is there they take turns among themselves.
        #expect(next(&leases) == 6)
        let isFull = leases.setAside(Self.lease(6)) != nil
        #expect(!isFull)
        #expect(next(&leases) == 7)
    }

    @Test("A packet that could not be read counts until it is read again")
    func unreadable() throws {
        var leases = Leases()
        leases.arrived(Self.lease(1))
        let lease = try take(&leases)
        leases.keptBack(lease)
        #expect(leases.inFlight == 0)
        #expect(leases.waitingCount == 1)
        #expect(!leases.hasNext)
        #expect(!leases.isEmpty)
        leases.lineUpAgain(lease)
        #expect(next(&leases) == 1)
        leases.ended()
        #expect(leases.isEmpty)
    }
}
