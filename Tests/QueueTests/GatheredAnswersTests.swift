import Queue
import System
import Testing

@testable import SQLiteQueue

@Suite struct GatheredAnswersTests {
    /// Counts what it was given to run, and runs it.
    private final class RecordingThread: CallbackThread {
        let runs = Locked(0)

        func run(_ callback: @escaping @Sendable () -> Void) {
            runs.withLock { $0 += 1 }
            callback()
        }
    }

    @Test("Each thread gets its outcomes together and in order")
    func gathers() {
        let threads = [RecordingThread(), RecordingThread()]
        let order = [Locked<[Int]>([]), Locked<[Int]>([])]
        var answers = GatheredAnswers()
        for number in 0..<5 {
            let list = order[number % 2]
            let request = CallingRequest(tally: IntakeTally(), on: threads[number % 2]) { _ in
                list.withLock { $0.append(number) }
            }
            answers.add(.stored, to: request)
        }
        #expect(order.allSatisfy { $0.withLock { $0.isEmpty } })
        answers.give()
        #expect(threads.map { $0.runs.withLock { $0 } } == [1, 1])
        #expect(order.map { $0.withLock { $0 } } == [[0, 2, 4], [1, 3]])
    }

    @Test("A request without a thread gets its outcome at once")
    func noThread() {
        let told = Locked<AppendOutcome?>(nil)
        var answers = GatheredAnswers()
        let request = CallingRequest(tally: IntakeTally()) { outcome in
            told.withLock { $0 = outcome }
        }
        answers.add(.refused(.full), to: request)
        #expect(told.withLock { $0 } == .refused(.full))
        answers.give()
    }
}
