import System
import TestSupport
import Testing

@testable import NATS

/// Bytes that wait to be sent.
@Suite struct OutputQueueTests {
    /// Removes everything, in random portions.
    private func drained(_ queue: inout OutputQueue, _ random: inout SeededRandom) -> [UInt8] {
        var all: [UInt8] = []
        while !queue.isEmpty {
            let some = queue.withFront { $0.prefix(.random(in: 1...$0.count, using: &random)) + [] }
            all += some
            queue.remove(some.count)
        }
        return all
    }

    @Test("Bytes leave in the order in which they came, whatever their sizes")
    func order() {
        var random = SeededRandom(seed: 1)
        var queue = OutputQueue()
        for _ in 0..<50 {
            var expected: [UInt8] = []
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                let count = [0, 1, 100, 10_000, 20_000].randomElement(using: &random) ?? 0
                let bytes = [UInt8](repeating: .random(in: 0...255, using: &random), count: count)
                queue.append(bytes)
                expected += bytes
            }
            #expect(queue.byteCount == expected.count)
            #expect(drained(&queue, &random) == expected)
            #expect(queue.isEmpty && queue.byteCount == 0)
        }
    }

    @Test("Small messages leave together")
    func together() {
        var queue = OutputQueue()
        for _ in 0..<10 { queue.append([1, 2]) }
        #expect(queue.withFront { $0.count } == 20)
        queue.remove(3)
        queue.append([7])
        #expect(queue.withFront { Array($0) }.suffix(2) == [2, 7])
        #expect(queue.take().byteCount == 18)
        #expect(queue.isEmpty)
    }
}
