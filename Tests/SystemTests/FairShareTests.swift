import Testing

@testable import System

@Suite
struct FairShareTests {
    @Test("A single holder may take all places")
    func alone() {
        var shares = FairShares<Int>(FairShare(max: 7, holders: 1))
        #expect(Self.fill(&shares, 1) == 7)
        #expect(!shares.hasPlace(1))
        shares.giveBack(1)
        #expect(shares.hasPlace(1) && shares.own(1) == 6)
    }

    @Test("A greedy holder leaves the others half of the open places, and their reserves")
    func greedy() {
        var shares = FairShares<Int>(FairShare(max: 100, holders: 3))
        #expect((1...3).map { Self.fill(&shares, $0) } == [42, 29, 23])
        #expect(Self.fill(&shares, 1) == 0)
        #expect(shares.all == 94 && shares.lent == 46)
    }

    @Test(
        "With greedy holders, each reserve stays free and the total is never exceeded",
        arguments: 1...6
    )
    func reserves(holders: Int) {
        for places in 0..<80 {
            let share = FairShare(max: places, holders: holders)
            var shares = FairShares<Int>(share)
            for holder in 0..<holders {
                #expect(shares.own(holder) == 0)
                #expect(Self.fill(&shares, holder) >= share.reserve)
                #expect(shares.all <= places)
            }
            // What one gives back the next round shares out, and the reserves are still there.
            for _ in 0..<shares.own(0) { shares.giveBack(0) }
            for holder in 0..<holders where holder > 0 { _ = Self.fill(&shares, holder) }
            #expect(Self.fill(&shares, 0) >= share.reserve)
            #expect(shares.all <= places)
        }
    }

    @Test("A holder can take exactly its room", arguments: 1...4)
    func room(holders: Int) {
        for places in 0..<60 {
            for others in 0..<places {
                var shares = FairShares<Int>(FairShare(max: places, holders: holders))
                for number in 0..<others where shares.hasPlace(number % 2) {
                    shares.take(number % 2)
                }
                let room = shares.room(0)
                #expect(Self.fill(&shares, 0) == room, "\(places) \(others)")
            }
        }
    }

    @Test("After a change of bounds, taken places stay and count against the new reserves")
    func change() {
        var shares = FairShares<Int>(FairShare(max: 100, holders: 1))
        for _ in 0..<90 { shares.take(1) }
        shares.change(to: FairShare(max: 100, holders: 2))
        #expect(shares.lent == 65 && shares.all == 90)
        #expect(!shares.hasPlace(1) && shares.hasPlace(2))
        for _ in 0..<80 { shares.giveBack(1) }
        #expect(shares.lent == 0 && shares.own(1) == 10)
        shares.giveBack(3)
        #expect(shares.all == 10)
    }

    private static func fill(_ shares: inout FairShares<Int>, _ holder: Int) -> Int {
        var count = 0
        while shares.hasPlace(holder), count < 1000 {
            shares.take(holder)
            count += 1
        }
        return count
    }

    func moment(_ number: Int) -> Moment { Moment(nanoseconds: Int64(number)) }

    @Test("Elements come out in the order of their keys, up to the limit", arguments: 0..<20)
    func order(seed: Int) {
        var queue = PriorityQueue<Moment, Int>()
        let deadlines = (0..<50).map { ($0 * 7919 + seed * 104_729) % 31 }
        for deadline in deadlines { queue.add(deadline, at: moment(deadline)) }
        #expect(queue.nextKey == deadlines.min().map(moment))
        var taken: [Int] = []
        for now in 0..<31 {
            while let element = queue.takeFirst(upTo: moment(now))?.element {
                #expect(element <= now)
                taken.append(element)
            }
        }
        #expect(taken == deadlines.sorted())
        #expect(queue.count == 0 && queue.nextKey == nil)
    }
}
