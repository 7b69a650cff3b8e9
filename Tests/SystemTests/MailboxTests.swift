import Testing

@testable import System

@Suite struct MailboxTests {
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

    @Test("No message of several threads is lost", .timeLimit(.minutes(1)))
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
}
