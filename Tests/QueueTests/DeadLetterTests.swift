import Logs
import SQLite
import System
import TestSupport
import Testing

@testable import Queue
@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct DeadLetterTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)

    /// A batch of logs that are dead on arrival.
    private func dead(
        _ numbers: Range<Int>,
        _ key: StreamKey = .named("a"),
        code: String = "ValueTooLarge",
        filling: Int = 20
    ) -> Batch {
        let reason = DeathReason(code: code, message: "a value is too long")
        return .dead(timed(numbers, at: now, filling: filling), key, because: reason)
    }

    @Test("Logs that are dead on arrival are accepted, and nothing is queued for them")
    func onArrival() throws {
        let store = try directory.queue()
        #expect(store.store(dead(0..<3)) == .stored)
        var mixed = Batch(timed(3..<5, at: now))
        mixed.dead = dead(5..<6).dead
        mixed.dropped = 7
        #expect(store.store(mixed) == .stored)
        let ledger = store.status.ledger
        #expect(ledger.accepted == 13 && ledger.queued == 2)
        #expect(ledger.dead == 4 && ledger.discarded == 7)
        #expect(ledger.isClosed)
        #expect(store.status.streams == 1)
        #expect(try store.deadNumbers() == [0, 1, 2, 5])
        #expect(store.store(Batch(stream: .named("b"), logs: EncodedLogs(), dropped: 1)) == .stored)
        #expect(store.status.ledger.discarded == 8 && store.status.streams == 1)
    }

    @Test("Dead letters are listed in order, page by page, and filtered")
    func lists() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<20, code: "A"))
        _ = store.store(dead(20..<30, .named("a", logstore: "second"), code: "B"))
        _ = store.store(dead(30..<35, .named("b", destination: "other"), code: "A"))
        #expect(try store.deadNumbers() == Array(0..<35))
        #expect(try store.deadNumbers(.init(destination: "app")) == Array(0..<30))
        #expect(try store.deadNumbers(.init(logstore: "second")) == Array(20..<30))
        #expect(try store.deadNumbers(.init(code: "A")) == Array(0..<20) + Array(30..<35))
        #expect(try store.deadNumbers(.init(destination: "other", code: "A")) == Array(30..<35))
        #expect(try store.deadNumbers(.init(destination: "other", code: "B")).isEmpty)
        let sums = store.deadLetterSums
        #expect(sums.map(\.destination) == ["app", "app", "other"])
        #expect(sums.map(\.code) == ["A", "B", "A"])
        #expect(sums.map(\.letters) == [20, 10, 5])
        #expect(sums.reduce(0) { $0 + $1.bytes } == store.status.bytes)
        let tenth = try store.letters()[10]
        #expect(try store.deadLetter(tenth.id)?.log == tenth.log)
        #expect(try store.deadLetter(tenth.id + 1_000_000) == nil)
        #expect(throws: Never.self) { try store.deadLetters(matching: .init(), after: 0, limit: 0) }
    }

    @Test("Large dead letters come in smaller pages, and none is left out")
    func largePages() throws {
        let store = try directory.queue()
        for number in 0..<8 {
            _ = store.store(dead(number..<number + 1, filling: 1 << 20))
        }
        let page = try store.deadLetters(matching: .init(), after: 0, limit: 1000)
        #expect(page.letters.count < 8)
        #expect(page.next == page.letters.last?.id)
        #expect(try store.deadNumbers() == Array(0..<8))
        // The text compresses to nearly nothing, and so it is kept.
        #expect(store.status.bytes < 100_000)
    }

    @Test("Replayed dead letters wait again and are delivered, and the ledger counts them once")
    func replay() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<30, .named("a")), dead(30..<40, .named("b")))
        let ids = try store.letters().map(\.id)
        let change = store.replaying(.ids(ids.prefix(5) + ids.prefix(5) + [123_456_789]))
        #expect(change.changed == 5 && change.end == .complete && change.unreadable == 0)
        #expect(change.effects.keys.sorted() == ["app"])
        #expect(change.effects["app"]?.dead == -5 && change.effects["app"]?.queued == 5)
        #expect(store.status.ledger.queued == 5 && store.status.ledger.dead == 35)
        let rest = store.replaying(.matching(.init(destination: "app")))
        #expect(rest.changed == 35)
        #expect(store.status.ledger.accepted == 40 && store.status.ledger.dead == 0)
        let sls = FakeSLS(store) { _ in false }
        try sls.run()
        #expect(try sls.numbers.sorted() == Array(0..<40))
        #expect(store.status.ledger.delivered == 40 && store.status.ledger.isClosed)
        #expect(store.status.bytes == 0)
    }

    @Test("A replayed log that is refused again becomes a dead letter again, and the replay ends")
    func dyingAgain() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<10))
        for _ in 0..<2 {
            #expect(store.replaying(.matching(.init())).changed == 10)
            let sls = FakeSLS(store) { (try? number($0) < 5) ?? true }
            try sls.run()
            guard !sls.stored.isEmpty else { continue }
            #expect(try sls.numbers.sorted() == Array(5..<10))
            #expect(try store.deadNumbers().sorted() == Array(0..<5))
            _ = store.store(dead(5..<10))
        }
        #expect(store.status.ledger.isClosed)
    }

    @Test("Packets of replayed dead letters are marked as replayed, also after they are halved")
    func replayedPackets() throws {
        let store = try directory.queue()
        let consumer = Consumer(store)
        func next() throws -> SealedPacket {
            store.flush("app")
            store.request(1, for: "app")
            store.settle()
            return try #require(consumer.next().first)
        }
        _ = store.store(dead(0..<4))
        #expect(store.replaying(.matching(.init())).changed == 4)
        let whole = try next()
        #expect(whole.isReplayed && whole.logCount == 4)
        store.end(whole, .isolate(FakeSLS.reason))
        for _ in 0..<2 {
            let half = try next()
            #expect(half.isReplayed && half.logCount == 2)
            store.end(half, .stored)
        }
        // A new log of the same stream makes it a packet like any other.
        _ = store.store(dead(4..<6))
        #expect(store.replaying(.matching(.init())).changed == 2)
        #expect(store.store(Batch(timed(6..<7, at: now))) == .stored)
        let mixed = try next()
        #expect(!mixed.isReplayed && mixed.logCount == 3)
        store.end(mixed, .isolate(FakeSLS.reason))
        // The smaller piece comes first.
        let (new, replayed) = (try next(), try next())
        #expect(!new.isReplayed && new.logCount == 1)
        #expect(replayed.isReplayed && replayed.logCount == 2)
    }

    @Test("Purged dead letters count as discarded, in as many steps as needed")
    func purge() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<2500, code: "A"), dead(2500..<2600, code: "B"))
        let commits = store.status.commits.count
        let change = store.purging(.matching(.init(code: "A")))
        #expect(change.changed == 2500)
        #expect(change.effects["app"]?.dead == -2500 && change.effects["app"]?.discarded == 2500)
        #expect(store.status.commits.count >= commits + 3)
        #expect(store.status.ledger.discarded == 2500 && store.status.ledger.dead == 100)
        #expect(try store.deadNumbers() == Array(2500..<2600))
        #expect(store.purging(.matching(.init(code: "A"))).changed == 0)
        #expect(store.purging(.ids(Array(0...10_000))).end == .tooManyIDs)
        #expect(store.purging(.matching(.init())).changed == 100)
        #expect(store.status.bytes == 0 && store.status.ledger.isClosed)
    }

    @Test("An edited dead letter is sent with its new content to its new logstore")
    func edit() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<2))
        let letter = try store.letters()[0]
        let trailer = GroupTrailer(topic: "mended", source: "s", tags: [("k", "v")])
        let edit = DeadLetterEdit(
            logstore: "second",
            trailer: trailer,
            time: LogTime(seconds: 77),
            fields: [("number", "1000")]
        )
        let outcome = store.replacing(letter.id, with: edit)
        let edited = try #require(try store.deadLetter(letter.id))
        #expect(outcome == .replaced(edited))
        #expect(edited.id == letter.id && edited.reason == letter.reason)
        #expect(edited.died == letter.died && edited.received == letter.received)
        #expect(store.status.bytes == (try store.letters()).reduce(0) { $0 + $1.cost })
        // What is not mentioned stays.
        _ = store.replacing(letter.id, with: DeadLetterEdit(time: LogTime(seconds: 78)))
        #expect(store.replaying(.ids([letter.id])).changed == 1)
        let consumer = Consumer(store)
        store.flush("app")
        let packet = consumer.packets(1, of: .named("second"))[0]
        #expect(packet.stream.logstore == "second" && packet.stream.trailer == trailer)
        let log = try entries(store.blocks(of: packet))[0]
        #expect(log.time.seconds == 78)
        #expect(log.fields.map(\.value) == ["1000"])
        #expect(store.status.ledger.isClosed)
    }

    @Test("An impossible edit is refused with the reason")
    func editRefused() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<2))
        let id = try store.letters()[0].id
        #expect(store.replacing(id + 1_000_000, with: DeadLetterEdit()) == .notFound)
        let large = DeadLetterEdit(fields: [("a", String(repeating: "x", count: 11 << 20))])
        #expect(store.replacing(id, with: large) == .tooLarge(bytesMax: 10 << 20))
        store.close()
        #expect(store.replacing(id, with: DeadLetterEdit()) == .refused(.stopping))
        #expect(store.purging(.ids([id])).end == .refused(.stopping))
    }

    @Test(
        "A dead letter damaged on the disk is shown without its log and can only be purged or replaced"
    )
    func damaged() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<3))
        let id = try store.letters()[1].id
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        try connection.execute("UPDATE dead SET payload = zeroblob(30) WHERE id = \(id)")
        #expect(try store.deadLetter(id)?.log == nil)
        #expect(store.replacing(id, with: DeadLetterEdit(fields: [])) == .unreadable)
        let change = store.replaying(.matching(.init()))
        #expect(change.changed == 2 && change.unreadable == 1 && change.end == .complete)
        #expect(store.status.ledger.dead == 1)
        #expect(store.purging(.ids([id])).changed == 1)
        #expect(store.status.ledger.dead == 0 && store.status.ledger.isClosed)
    }

    @Test(
        "A damaged dead letter leaves with its counted bytes, before and after a restart"
    )
    func damagedBytes() throws {
        for restarts in [false, true] {
            let store = try directory.queue()
            _ = store.store(dead(0..<6, filling: 200), dead(6..<9, code: "Other"))
            let ids = try store.letters().map(\.id)
            let connection = try Connection(directory.path + "/queue.db", .readWrite)
            try connection.execute(
                """
                UPDATE dead SET payload = zeroblob(3) WHERE id IN (\(ids[1]), \(ids[7]));
                UPDATE dead SET message = 'other words' WHERE id = \(ids[2]);
                UPDATE dead SET cost = cost + 7 WHERE id = \(ids[3])
                """
            )
            #expect(store.replaying(.matching(.init())).changed == 5)
            func agrees(_ store: DurableQueue) -> Bool {
                let app = store.status.destinations["app"]
                let sums = store.deadLetterSums
                return app?.deadBytes == sums.reduce(0) { $0 + $1.bytes }
                    && app?.ledger.dead == Int64(sums.reduce(0) { $0 + $1.letters })
            }
            #expect(agrees(store) && store.status.ledger.dead == 4)
            let rest: DurableQueue
            if restarts {
                store.close()
                rest = try directory.queue()
            } else {
                rest = store
            }
            #expect(agrees(rest))
            let sls = FakeSLS(rest) { _ in false }
            try sls.run()
            #expect(agrees(rest) && rest.purging(.matching(.init())).changed == 4)
            #expect(agrees(rest) && rest.deadLetterSums.isEmpty)
            #expect(rest.status.bytes == 0 && rest.status.ledger.isClosed)
            rest.close()
        }
    }

    @Test("Dead letters survive a restart, and a ledger without them is corrected")
    func restart() throws {
        var store = try directory.queue()
        _ = store.store(dead(0..<10))
        store.close()
        store = try directory.queue()
        #expect(try store.deadNumbers() == Array(0..<10))
        #expect(store.status.repairedLogs == 0)
        #expect(store.status.bytes == store.status.destinations["app"]?.deadBytes)
        store.close()
        let first = "(SELECT min(id) FROM dead)"
        try execute(in: directory.path + "/queue.db", "DELETE FROM dead WHERE id = \(first)")
        store = try directory.queue()
        #expect(store.status.repairedLogs == 1)
        #expect(store.status.ledger.dead == 9 && store.status.ledger.discarded == 1)
        #expect(store.status.ledger.isClosed)
    }

    @Test("A long message is cut between characters")
    func message() throws {
        let store = try directory.queue()
        let message = "x" + String(repeating: "ü", count: 2000)
        let reason = DeathReason(code: "PostBodyInvalid", message: message)
        _ = store.store(.dead(timed([1], at: now), because: reason))
        let kept = try store.letters()[0].reason.message
        #expect(kept.utf8.count == 1023 && kept.hasPrefix("xü") && kept.hasSuffix("ü"))
    }

    @Test("Simultaneous changes of dead letters are done or refused, and each gets one answer")
    func manyChanges() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<300))
        let ids = try store.letters().map(\.id)
        let answers = Awaited<DeadLetterChange>()
        for id in ids { store.change(.purge, .ids([id])) { answers.put($0) } }
        let all = answers.take(300)
        #expect(all.allSatisfy { $0.end == .busy || ($0.end == .complete && $0.changed == 1) })
        let purged = all.reduce(0) { $0 + $1.changed }
        #expect(purged >= 64)
        #expect(store.status.ledger.dead == Int64(300 - purged))
    }
}
