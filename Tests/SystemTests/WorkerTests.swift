import Glibc
import Testing

@testable import System

@Suite
struct WorkerTests {
    @Test("A worker's nice value is its own, and counts from the process's")
    func nice() throws {
        @Sendable func value() -> CInt { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
        let before = value()
        let promise = try Promise<CInt>()
        let worker = try Worker("nice-test", nice: 3) { promise.bring(value()) }
        #expect(promise.wait() == min(before + 3, 19))
        #expect(value() == before)
        worker.join()
    }

    @Test("Several posts before the owner takes them cause one wake-up")
    func wakesOnce() {
        let woken = Locked(0)
        let mailbox = Mailbox<Int> { woken.withLock { $0 += 1 } }
        mailbox.post(1)
        mailbox.post(2)
        #expect(woken.withLock { $0 } == 1)
        #expect(mailbox.takeAll() == [1, 2])
        #expect(mailbox.takeAll().isEmpty)
        mailbox.post(3)
        #expect(woken.withLock { $0 } == 2)
    }

    @Test("A closed mailbox keeps no message, and no sender")
    func closes() {
        final class Sender: Sendable {}
        let woken = Locked(0)
        let mailbox = Mailbox<Sender> { woken.withLock { $0 += 1 } }
        weak var first: Sender?
        weak var second: Sender?
        do {
            let senders = (Sender(), Sender())
            (first, second) = (senders.0, senders.1)
            mailbox.post(senders.0)
            mailbox.close()
            mailbox.post(senders.1)
        }
        #expect(first == nil)
        #expect(second == nil)
        #expect(mailbox.takeAll().isEmpty && woken.withLock { $0 } == 1)
    }

    @Test("No message of several threads is lost", .timeLimit(.minutes(10)))
    func manyThreads() throws {
        let wakeUp = try WakeUp()
        let mailbox = Mailbox<Int> { wakeUp.signal() }
        let workers = try (0..<4).map { worker in
            try Worker("poster") {
                for number in 0..<1000 { mailbox.post(worker * 1000 + number) }
            }
        }
        var received: Set<Int> = []
        while received.count < 4000 {
            wakeUp.wait()
            received.formUnion(mailbox.takeAll())
        }
        for worker in workers { worker.join() }
        #expect(received == Set(0..<4000))
    }

    /// The caller of a job that is not done learns of it when the job ends.
    @Test("A job posted while the worker stops is done or dropped", .timeLimit(.minutes(10)))
    func stopsAmongPosts() throws {
        final class Caller: Sendable {
            let waiting: Locked<Int>
            init(_ waiting: Locked<Int>) { self.waiting = waiting }
            deinit { waiting.withLock { $0 -= 1 } }
        }
        let waiting = Locked(0)
        for _ in 0..<200 {
            let serial = try SerialWorker("stopping", waitingMax: .max)
            try serial.start()
            let poster = try Worker("poster") {
                var isTaken = true
                while isTaken {
                    waiting.withLock { $0 += 1 }
                    let caller = Caller(waiting)
                    isTaken = serial.post { withExtendedLifetime(caller) {} }
                }
            }
            serial.stop()
            poster.join()
            #expect(waiting.withLock { $0 } == 0)
            withExtendedLifetime(serial) {}
        }
    }
}
