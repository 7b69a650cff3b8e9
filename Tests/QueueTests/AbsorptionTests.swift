import CommitLog
import Logs
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Queue
@testable import SQLiteQueue

/// A shard that is empty becomes a part of another one.
@Suite(.timeLimit(.minutes(10))) final class AbsorptionTests {
    /// More than one step takes over.
    private static let letters = 2300
    private static let requests = 5100

    private let ceding = MemoryCommitLog()
    private let home = MemoryCommitLog()
    private let cedingPlace = TemporaryDirectory()
    private var directories: [TemporaryDirectory] = []

    private func queue(
        on log: MemoryCommitLog,
        _ shard: Shard,
        in directory: String? = nil,
        repeatsMax: Int? = nil
    ) throws -> DurableQueue {
        if directory == nil { directories.append(TemporaryDirectory()) }
        var configuration = QueueConfiguration.small(
            directory ?? directories[directories.count - 1].path
        )
        configuration.shard = shard
        configuration.commitLog = log
        if let repeatsMax { configuration.repeatsMax = repeatsMax }
        configuration.commitRetries.pauseMin = .milliseconds(1)
        configuration.commitRetries.timeout = .milliseconds(200)
        return try DurableQueue(configuration, journal: .silent)
    }

    private func absorb(into store: DurableQueue) -> AbsorptionOutcome {
        answer { store.absorb("old", in: cedingPlace.path, whenDone: $0) }
    }

    private func dead(_ count: Int) -> Batch {
        var batch = Batch.dead(timed(0..<count, at: UInt32(WallTime.now.seconds)))
        batch.dropped = 5
        return batch
    }

    /// A shard that had logs, and has letters and remembered requests left. It is ceded and closed.
    private func cede(letters: Int = letters, requests: Int = requests) throws -> QueueStatus {
        let store = try queue(on: ceding, Shard(number: 1), in: cedingPlace.path)
        #expect(store.store(dead(letters)) == .stored)
        let answers = Awaited<AppendOutcome>()
        for number in 0..<requests {
            let batch = Batch(logs(number...number))
            store.append([batch], identity: .of(number * 1000)) { answers.put($0) }
        }
        #expect(answers.take(requests).allSatisfy { $0 == .stored })
        #expect(!answer { store.cede(to: "home", whenDurable: $0) }, "logs wait")
        store.flush("app")
        let consumer = Consumer(store)
        while store.status.ledger.queued > 0 {
            for packet in consumer.packets(1) { store.end(packet, .stored) }
            store.wait { status in status.ledger.queued == 0 || status.packets == 0 }
        }
        #expect(answer { store.cede(to: "home", whenDurable: $0) })
        #expect(store.cededTo == "home")
        #expect(!answer { store.cede(to: "third", whenDurable: $0) }, "it is ceded already")
        let status = store.status
        #expect(status.ledger.dead == letters && status.intake.isClosed)
        store.close()
        return status
    }

    private func home(with numbers: ClosedRange<Int>, on log: MemoryCommitLog? = nil) throws
        -> DurableQueue
    {
        let store = try queue(on: log ?? home, .home)
        #expect(store.store(Batch(stream: .named("b"), logs: logs(numbers))) == .stored)
        return store
    }

    /// The sums are those of both shards, and they agree with what is stored.
    private func expectAll(of ceded: QueueStatus, in store: DurableQueue, besides own: Int64) throws
    {
        let ledger = store.status.ledger
        #expect(ledger.isClosed && store.status.intake.isClosed)
        #expect(ledger.accepted == ceded.ledger.accepted + own && ledger.queued == own)
        #expect(ledger.delivered == ceded.ledger.delivered && ledger.dead == ceded.ledger.dead)
        #expect(ledger.discarded == ceded.ledger.discarded)
        #expect(store.status.intake.received == ceded.intake.received + Int(own))
        #expect(store.status.intake.copies == Int(ledger.accepted + ledger.skipped))
        #expect(store.status.deadLetters.map(\.letters) == [Int(ceded.ledger.dead)])
        #expect(try store.deadNumbers().sorted() == Array(0..<Int(ceded.ledger.dead)))
        #expect(store.status.repeats.known == ceded.repeats.known)
    }

    @Test("Another shard takes over letters, remembered requests and ledgers of one that is empty")
    func absorption() throws {
        let ceded = try cede()
        let store = try home(with: 1...7)
        #expect(answer { store.intend(toAbsorb: "old", whenDurable: $0) })
        #expect(store.absorptions == ["old": .intended])
        #expect(absorb(into: store) == .done)
        try expectAll(of: ceded, in: store, besides: 7)
        #expect(store.send(17_000) == BatchIdentity.of(17_000).repeated)
        #expect(store.absorptions == ["old": .done])
        // Done is done, also after a restart.
        store.close()
        let again = try queue(on: home, .home)
        #expect(again.status.repairedLogs == 0 && again.absorptions == ["old": .done])
        #expect(absorb(into: again) == .done)
        try expectAll(of: ceded, in: again, besides: 7)
        let isCeded = answer { again.cede(to: "third", whenDurable: $0) }
        #expect(!isCeded, "the other log may be there yet")
        #expect(answer { again.forget(absorbed: "old", whenDurable: $0) })
        #expect(again.absorptions.isEmpty)
        again.close()
    }

    @Test(
        "Of two shards' remembered requests the later ones are kept, if not all may be",
        arguments: [true, false]
    )
    func fullMemory(cededIsLater: Bool) throws {
        let store = try queue(on: home, .home, repeatsMax: 100)
        func fill() {
            for number in 1...100 { #expect(store.send((1000 + number) * 1000) == .stored) }
        }
        if cededIsLater { fill() }
        _ = try cede(letters: 0, requests: 100)
        if !cededIsLater { fill() }
        #expect(answer { store.intend(toAbsorb: "old", whenDurable: $0) })
        #expect(absorb(into: store) == .done)
        // The last of those that must be known, and none of the others.
        for number in 50..<100 {
            let (ceded, own) = (number * 1000, (1001 + number) * 1000)
            let known = cededIsLater ? ceded : own
            #expect(store.send(known) == BatchIdentity.of(known).repeated, "\(number)")
        }
        store.wait { $0.repeats.known <= 100 && $0.repeats.forgottenEarly >= 100 }
        store.close()
    }

    @Test("An absorption that was cut off after any transaction is gone on with")
    func crashPoints() throws {
        let ceded = try cede()
        let store = try home(with: 1...7)
        let before = home.entries.count
        #expect(answer { store.intend(toAbsorb: "old", whenDurable: $0) })
        #expect(absorb(into: store) == .done)
        let entries = home.entries
        store.close()
        #expect(entries.count - before > 5, "it takes several transactions")
        for count in before...entries.count {
            let heir = try queue(on: MemoryCommitLog(Array(entries.prefix(count))), .home)
            #expect(answer { heir.intend(toAbsorb: "old", whenDurable: $0) })
            #expect(absorb(into: heir) == .done)
            try expectAll(of: ceded, in: heir, besides: 7)
            heir.close()
        }
    }

    @Test("A ceded shard changes no more, whatever opens it")
    func cededShard() throws {
        let ceded = try cede(letters: 3, requests: 2)
        let heir = try queue(on: ceding.copy(), Shard(number: 2))
        #expect(heir.cededTo == "home")
        var ids = try heir.deadLetters(matching: .init(), after: 0, limit: 10).letters.map(\.id)
        #expect(ids.allSatisfy { Shard(ofLetter: $0).number == 2 })
        let change: DeadLetterChange = answer { heir.change(.purge, .ids(ids), whenDone: $0) }
        #expect(change.end == .refused(.stopping))
        #expect(heir.status.ledger == ceded.ledger)
        ids = try heir.deadLetters(matching: .init(), after: 0, limit: 10).letters.map(\.id)
        #expect(ids.count == 3)
        heir.close()
    }

    @Test("A shard whose letters are replayed at the same moment is not ceded")
    func replayMeanwhile() throws {
        for _ in 0..<20 {
            let log = MemoryCommitLog()
            let store = try queue(on: log, Shard(number: 1))
            #expect(store.store(dead(3)) == .stored)
            let changes = Awaited<DeadLetterChange>()
            let ceded = Awaited<Bool>()
            store.change(.replay, .matching(DeadLetterFilter())) { changes.put($0) }
            store.cede(to: "home") { ceded.put($0) }
            let (isCeded, change) = (ceded.take(1)[0], changes.take(1)[0])
            #expect(isCeded == (change.changed == 0), "\(change)")
            #expect(store.status.ledger.queued == 0 || store.cededTo == nil)
            store.close()
        }
    }

    @Test("A shard that was ceded although the answer was lost is found to be so")
    func lostAnswer() throws {
        let store = try queue(on: ceding, Shard(number: 1))
        #expect(store.store(dead(3)) == .stored)
        ceding.plan([.unanswered] + Array(repeating: .unreachable, count: 200))
        _ = answer { store.cede(to: "home", whenDurable: $0) } as Bool
        ceding.plan([])
        store.wait { $0.admission == .open }
        #expect(store.cededTo == "home")
        #expect(answer { store.cede(to: "home", whenDurable: $0) })
        #expect(!answer { store.cede(to: "third", whenDurable: $0) })
        store.close()
    }

    @Test("The letters of a shard that is not the first have ids of their own")
    func letterIDs() throws {
        let store = try queue(on: home, Shard(number: 3))
        #expect(store.store(dead(5)) == .stored)
        let page = try store.deadLetters(matching: .init(), after: 0, limit: 3)
        let rest = try store.deadLetters(
            matching: .init(),
            after: try #require(page.next),
            limit: 3
        )
        #expect(page.letters.count == 3 && rest.letters.count == 2 && rest.next == nil)
        let id = page.letters[0].id
        #expect(Shard(ofLetter: id).number == 3)
        #expect(try store.deadLetter(id)?.id == id)
        #expect(try store.deadLetter(id - Shard(number: 3).letterID(0)) == nil)
        let change: DeadLetterChange = answer { store.change(.purge, .ids([id, 1]), whenDone: $0) }
        #expect(change.changed == 1)
        store.close()
    }
}
