import System
import Testing

@testable import Delivery

@Suite struct DeadlineHeapTests {
    func moment(_ number: Int) -> Moment { Moment(nanoseconds: Int64(number)) }

    @Test("Everything comes out in the order of its moments, and not before", arguments: 0..<20)
    func order(seed: Int) {
        var heap = DeadlineHeap<Int>()
        let deadlines = (0..<50).map { ($0 * 7919 + seed * 104_729) % 31 }
        for deadline in deadlines { heap.add(deadline, at: moment(deadline)) }
        #expect(heap.next == deadlines.min().map(moment))
        var taken: [Int] = []
        for now in 0..<31 {
            while let element = heap.takeDue(moment(now)) {
                #expect(element <= now)
                taken.append(element)
            }
        }
        #expect(taken == deadlines.sorted())
        #expect(heap.count == 0 && heap.next == nil)
    }
}
