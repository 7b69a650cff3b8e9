import Logs
import Queue
import System
import Testing

@testable import Delivery

@Suite struct LeasesTests {
    func packet(_ number: Int64) -> SealedPacket {
        SealedPacket(
            number: number,
            stream: StreamKey(destination: "app", logstore: "l", trailer: GroupTrailer(bytes: [])),
            packID: "p",
            rows: number...number,
            logCount: 1,
            rawBytes: 1,
            oldest: .now,
            recent: [StoredBlock(compressed: [0], rawBytes: 0)]
        )
    }

    let now = Moment(nanoseconds: 1000)
    let later = Moment(nanoseconds: 2000)

    @Test("The queue is asked for the free places and a quarter ahead, once")
    func demand() {
        var leases = Leases(concurrency: 8, limit: 32)
        #expect(leases.demand() == 10)
        #expect(leases.demand() == 0)
        for number in 1...10 as ClosedRange<Int64> { leases.arrived(packet(number)) }
        #expect(leases.demand() == 0)
        while leases.next(now) != nil {}
        #expect(leases.inFlight == 8)
        #expect(leases.demand() == 0)
        leases.ended()
        #expect(leases.demand() == 1)
    }

    @Test("What waits for a retry takes no place in flight, but counts against the limit")
    func waiting() {
        var leases = Leases(concurrency: 2, limit: 4)
        var asked = leases.demand()
        for number in 1... as PartialRangeFrom<Int64> {
            guard asked > 0 else { break }
            leases.arrived(packet(number))
            while let lease = leases.next(now) { leases.postponed(lease, until: later) }
            asked += leases.demand() - 1
        }
        #expect(leases.waitingCount == 4)
        #expect(leases.inFlight == 0)
        #expect(!leases.canSend(now))
        #expect(leases.nextRetry == later)
        #expect(leases.canSend(later))
    }

    /// Takes from an endless queue and fails each time, until no more is asked for.
    func fillUp(_ leases: inout Leases, with kind: DeliveryFailure.Kind) -> Int {
        var taken = 0
        for round in 0..<100 as Range<Int64> {
            let asked = leases.demand()
            for _ in 0..<asked {
                taken += 1
                leases.arrived(packet(Int64(taken)))
            }
            let now = Moment(nanoseconds: 1000 * (round + 1))
            while var lease = leases.next(now) {
                lease.failures += 1
                lease.lastFailure = kind
                leases.postponed(lease, until: Moment(nanoseconds: now.nanoseconds + 1))
            }
        }
        return taken
    }

    @Test(
        "What fails again and again leaves its lease to others, within a bound",
        arguments: [DeliveryFailure.Kind.notFound, .content, .server, .unauthorized]
    )
    func parking(kind: DeliveryFailure.Kind) {
        var leases = Leases(concurrency: 2, limit: 4, parkedLimit: 10)
        #expect(fillUp(&leases, with: kind) == 14)
        #expect(leases.waitingCount == 14)
        #expect(leases.parkedCount == 14)
        for _ in 0..<4 {
            #expect(leases.next(later + .seconds(1)) != nil)
            leases.ended()
        }
        #expect(leases.parkedCount == 10)
        #expect(leases.demand() == 3, "as with an empty table")
    }

    @Test(
        "Without an answer from SLS nothing is parked",
        arguments: [DeliveryFailure.Kind.network, .notSLS]
    )
    func outage(kind: DeliveryFailure.Kind) {
        var leases = Leases(concurrency: 2, limit: 4, parkedLimit: 10)
        #expect(fillUp(&leases, with: kind) == 4)
        #expect(leases.parkedCount == 0)
    }

    @Test("A packet that waits has given its content back")
    func content() {
        var leases = Leases(concurrency: 2, limit: 4)
        leases.arrived(packet(1))
        guard var lease = leases.next(now) else {
            Issue.record("nothing to send")
            return
        }
        #expect(lease.packet.recent != nil)
        lease.failures = 3
        leases.postponed(lease, until: later)
        #expect(leases.next(now) == nil)
        let again = leases.next(later)
        #expect(again?.packet.number == 1)
        #expect(again?.failures == 3)
        #expect(again?.packet.recent == nil)
    }

    @Test("What failed before is sent before what is new")
    func order() {
        var leases = Leases(concurrency: 2, limit: 4)
        leases.arrived(packet(1))
        guard let first = leases.next(now) else {
            Issue.record("nothing to send")
            return
        }
        leases.postponed(first, until: later)
        leases.arrived(packet(2))
        leases.arrived(packet(3))
        #expect(leases.next(now)?.packet.number == 2)
        #expect(leases.next(later)?.packet.number == 1)
        #expect(leases.next(later) == nil, "both places are taken")
    }

    @Test("Only those are hastened that wait for the reason given")
    func hasten() {
        var leases = Leases(concurrency: 2, limit: 4)
        for (number, kind) in [(1, DeliveryFailure.Kind.network), (2, .notFound)] {
            leases.arrived(packet(Int64(number)))
            guard var lease = leases.next(now) else { continue }
            lease.lastFailure = kind
            leases.postponed(lease, until: later)
        }
        leases.hasten([.network, .server]) { now }
        #expect(leases.next(now)?.packet.number == 1)
        #expect(leases.next(now) == nil)
    }
}
