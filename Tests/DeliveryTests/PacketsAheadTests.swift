import Testing

@testable import Delivery

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
