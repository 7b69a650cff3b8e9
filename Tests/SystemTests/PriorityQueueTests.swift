import Testing

@testable import System

@Suite struct PriorityQueueTests {
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
