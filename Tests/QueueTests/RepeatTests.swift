import Glibc
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension BatchIdentity {
    /// Of request so-and-so; the digest's first 8 bytes are the same for each thousand.
    static func of(_ number: Int, receipt: String? = nil) -> BatchIdentity {
        var digest = [UInt8](repeating: 7, count: 16)
        withUnsafeBytes(of: (number / 1000).bigEndian) { digest.replaceSubrange(0..<8, with: $0) }
        withUnsafeBytes(of: number.bigEndian) { digest.replaceSubrange(8..<16, with: $0) }
        let text = receipt ?? String(repeating: "0", count: 16) + "\(10_000_000 + number)"
        return BatchIdentity(digest: digest, receipt: Array(text.utf8), logs: 10)
    }

    /// What a repetition is answered.
    var repeated: AppendOutcome { .repeated(receipt: receipt, logs: logs) }
}

extension DurableQueue {
    /// Sends request so-and-so, with ten logs of its own, and waits for the answer.
    func send(_ number: Int, receipt: String? = nil) -> AppendOutcome {
        let batch = Batch(logs(number * 10..<number * 10 + 10))
        return store([batch], identity: .of(number, receipt: receipt))
    }
}

@Suite(.timeLimit(.minutes(10))) struct RepeatTests {
    let directory = TemporaryDirectory()

    private func open(
        repeatsMax: Int = 1000,
        _ change: (inout QueueConfiguration) -> Void = { _ in }
    ) throws -> DurableQueue {
        try directory.queue {
            $0.repeatsMax = repeatsMax
            change(&$0)
        }
    }

    @Test("A request that comes again is stored once, and answered as the first was")
    func again() throws {
        let store = try open()
        #expect(store.send(1, receipt: "FIRST") == .stored)
        for _ in 0..<3 {
            let outcome = store.send(1, receipt: "LATER")
            #expect(outcome == .repeated(receipt: Array("FIRST".utf8), logs: 10))
        }
        #expect(store.send(2) == .stored)
        #expect(store.status.ledger.accepted == 20)
        #expect(store.status.rows == 2)
        let expected = QueueStatus.Repeats(known: 2, repeated: 3)
        #expect(store.status.repeats == expected)
    }

    @Test("Requests without an identity are all stored, and none is remembered")
    func withoutIdentity() throws {
        let store = try open()
        for _ in 0..<2 {
            #expect(store.store(Batch(logs(0..<10))) == .stored)
        }
        #expect(store.status.ledger.accepted == 20)
        #expect(store.status.repeats.known == 0)
    }

    @Test("Digests that begin alike are told apart, and none is taken for another")
    func alike() throws {
        let store = try open()
        #expect(store.send(1) == .stored)
        #expect(store.send(2) == .stored)
        // The first was displaced: it is stored again rather than lost.
        #expect(store.send(2) == BatchIdentity.of(2).repeated)
        #expect(store.send(1) == .stored)
        #expect(store.send(1) == BatchIdentity.of(1).repeated)
        #expect(store.status.ledger.accepted == 30)
    }

    @Test("The same request from several threads at once is stored exactly once")
    func atOnce() throws {
        let store = try open()
        let rounds = 200
        let answers = Awaited<(round: Int, outcome: AppendOutcome)>()
        let threads = try (0..<4).map { thread in
            try Worker("sender") {
                for round in 0..<rounds {
                    let batch = Batch(stream: .named("\(thread)"), logs: logs([round]))
                    store.append([batch], identity: .of(round * 1000)) { outcome in
                        answers.put((round, outcome))
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        var outcomes: [Int: [AppendOutcome]] = [:]
        for (round, outcome) in answers.take(4 * rounds) {
            outcomes[round, default: []].append(outcome)
        }
        for round in 0..<rounds {
            let found = try #require(outcomes[round])
            #expect(found.filter { $0 == .stored }.count == 1)
            #expect(found.filter { $0 == BatchIdentity.of(round * 1000).repeated }.count == 3)
        }
        #expect(store.status.ledger.accepted == Int64(rounds))
        #expect(store.status.repeats == QueueStatus.Repeats(known: rounds, repeated: 3 * rounds))
    }

    @Test("What was refused is not remembered; what was stored is known also when nothing fits")
    func refused() throws {
        let store = try open { $0.bytesMax = 20_000 }
        var stored = 0
        while store.send(stored) == .stored { stored += 1 }
        #expect(stored > 1)
        #expect(store.send(stored) == .refused(.full))
        #expect(store.status.repeats.known == stored)
        #expect(store.send(stored - 1) == BatchIdentity.of(stored - 1).repeated)
        let consumer = Consumer(store)
        store.flush("app")
        for packet in consumer.packets(1) { store.end(packet, .stored) }
        store.wait { $0.ledger.queued == 0 }
        #expect(store.send(stored) == .stored)
    }

    @Test("Requests are remembered across a restart and across the death of the process")
    func restart() throws {
        let first = try open()
        #expect(first.send(1000) == .stored)
        #expect(first.send(2000) == .stored)
        let killed = directory.copy()
        #expect(first.send(3000) == .stored)
        first.close()
        let second = try open()
        for number in [1000, 2000, 3000] {
            #expect(second.send(number) == BatchIdentity.of(number).repeated)
        }
        #expect(second.status.repeats == QueueStatus.Repeats(known: 3, repeated: 3))
        let third = try killed.queue()
        #expect(third.send(2000) == BatchIdentity.of(2000).repeated)
        #expect(third.send(3000) == .stored)
        #expect(third.status.ledger.accepted == 30)
    }

    @Test("No more are remembered than may be, and the oldest are forgotten first")
    func number() throws {
        let store = try open(repeatsMax: 10)
        for number in 0..<25 { #expect(store.send(number * 1000) == .stored) }
        #expect(store.status.repeats == QueueStatus.Repeats(known: 10, forgottenEarly: 15))
        for number in 15..<25 {
            #expect(store.send(number * 1000) == BatchIdentity.of(number * 1000).repeated)
        }
        #expect(store.send(14_000) == .stored)
        #expect(store.send(15_000) == .stored)
        #expect(store.status.repeats.known == 10)
    }

    @Test("A bound that was lowered is kept after a while, and none remembers nothing")
    func lowered() throws {
        let before = try open()
        for number in 0..<50 { _ = before.send(number * 1000) }
        before.close()
        let fewer = try open(repeatsMax: 20)
        fewer.wait { $0.repeats.known == 20 }
        #expect(fewer.status.repeats.forgottenEarly == 30)
        #expect(fewer.send(49_000) == BatchIdentity.of(49_000).repeated)
        fewer.close()
        let none = try open(repeatsMax: 0)
        none.wait { $0.repeats.known == 0 }
        for _ in 0..<2 { #expect(none.send(49_000) == .stored) }
        #expect(none.status.repeats.known == 0)
    }

    @Test("Requests are forgotten at their age, and by no clock that was wrong")
    func age() throws {
        let clock = SteppedClock()
        func open() throws -> DurableQueue {
            try directory.queue(clock: clock.queueClock) { $0.repeatsAgeMax = .seconds(60) }
        }
        let store = try open()
        _ = store.send(1000)
        clock.set(1_800_000_059)
        _ = store.send(2000)
        #expect(store.send(1000) == BatchIdentity.of(1000).repeated)
        clock.set(1_800_000_060)
        store.wait { $0.repeats.known == 1 }
        #expect(store.status.repeats.forgottenEarly == 0)
        #expect(store.send(1000) == .stored)
        store.close()
        // A host that does not know the time yet: the day begins when it does.
        clock.set(100)
        let again = try open()
        #expect(again.send(2000) == BatchIdentity.of(2000).repeated)
        #expect(again.send(3000) == .stored)
        #expect(again.status.repeats.known == 3)
    }

    @Test("What a killed process answered for is known to the next one", arguments: 0..<3)
    func killed(round: Int) async throws {
        let path = directory.path
        let millis = UInt32(40 + 50 * round)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, millis = millis as UInt32] in
            try sendUntilKilled(path, after: millis)
        }
        let store = try DurableQueue(.small(path + "/data"), journal: .silent)
        defer { store.close() }
        let answered = readFile(path + "/answered").count
        #expect(answered > 0)
        for number in 0..<answered {
            #expect(store.send(number * 1000) == BatchIdentity.of(number * 1000).repeated)
        }
    }
}

/// Writes a byte for each request that was answered, in their order.
private func sendUntilKilled(_ path: String, after millis: UInt32) throws {
    let file = open(path + "/answered", O_CREAT | O_WRONLY | O_APPEND, 0o600)
    let store = try DurableQueue(.small(path + "/data"), journal: .silent)
    let killer = try Worker("killer") {
        usleep(millis * 1000)
        kill(getpid(), SIGKILL)
    }
    var number = 0
    while true {
        let batch = Batch(logs(number * 10..<number * 10 + 10))
        store.append([batch], identity: .of(number * 1000)) { outcome in
            if outcome == .stored { write(file, "+", 1) }
        }
        number += 1
        if number % 100 == 0 { usleep(100) }
    }
    killer.join()
}

extension QueueStatus.Repeats {
    init(known: Int, repeated: Int = 0, forgottenEarly: Int = 0) {
        self.init()
        self.known = known
        self.repeated = repeated
        self.forgottenEarly = forgottenEarly
    }
}
