import Testing

@testable import System

@Suite struct CallbackThreadTests {
    /// Keeps what it was given to run, and runs it.
    private final class RecordingThread: CallbackThread {
        let runs = Locked<[Int]>([])

        func run(_ callbacks: [@Sendable () -> Void]) {
            runs.withLock { $0.append(callbacks.count) }
            for callback in callbacks { callback() }
        }
    }

    @Test("Each thread gets its callbacks together and in order")
    func gathers() {
        let threads = [RecordingThread(), RecordingThread()]
        let order = [Locked<[Int]>([]), Locked<[Int]>([])]
        var callbacks = GatheredCallbacks()
        for number in 0..<5 {
            let list = order[number % 2]
            callbacks.add({ list.withLock { $0.append(number) } }, on: threads[number % 2])
        }
        #expect(order.allSatisfy { $0.withLock { $0.isEmpty } })
        callbacks.run()
        #expect(threads.map { $0.runs.withLock { $0 } } == [[3], [2]])
        #expect(order.map { $0.withLock { $0 } } == [[0, 2, 4], [1, 3]])
    }

    @Test("A callback without a thread runs at once")
    func noThread() {
        let ran = Locked(false)
        var callbacks = GatheredCallbacks()
        callbacks.add({ ran.withLock { $0 = true } }, on: nil)
        #expect(ran.withLock { $0 })
        callbacks.run()
    }
}
