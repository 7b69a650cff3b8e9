import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Requests that are remembered, of several senders.
@Suite(.timeLimit(.minutes(10))) struct RepeatShareTests {
    let directory = TemporaryDirectory()

    private func open(repeatsMax: Int = 100) throws -> DurableQueue {
        try directory.queue { $0.repeatsMax = repeatsMax }
    }

    private func send(
        _ number: Int,
        by sender: String?,
        to destination: String = "app",
        _ store: DurableQueue
    ) -> AppendOutcome {
        let batch = Batch(stream: .named("a", destination: destination), logs: logs(0..<10))
        return store.store([batch], identity: .of(number * 1000), sender: sender)
    }

    @Test(
        "A key that sends many requests displaces its own, and others' are recognised, also after a restart"
    )
    func keys() throws {
        var store = try open()
        for number in 0..<20 { #expect(send(number, by: "phone", store) == .stored) }
        for number in 1000..<1300 { #expect(send(number, by: "greedy", store) == .stored) }
        #expect(store.status.repeats.known <= 100)
        for restarts in [false, true] {
            if restarts {
                store.close()
                store = try open()
                for number in 2000..<2300 { #expect(send(number, by: "greedy", store) == .stored) }
            }
            for number in 0..<20 {
                #expect(
                    send(number, by: "phone", store) == BatchIdentity.of(number * 1000).repeated
                )
            }
        }
        #expect(send(2299, by: "greedy", store) == BatchIdentity.of(2_299_000).repeated)
        #expect(send(1000, by: "greedy", store) == .stored)
        store.close()
    }

    @Test("Without keys a destination displaces its own")
    func destinations() throws {
        let store = try open()
        for number in 0..<20 { #expect(send(number, by: nil, store) == .stored) }
        for number in 1000..<1300 { #expect(send(number, by: nil, to: "other", store) == .stored) }
        for number in 0..<20 {
            #expect(send(number, by: nil, store) == BatchIdentity.of(number * 1000).repeated)
        }
    }

    @Test("A key does not get a larger part by sending to several destinations")
    func severalDestinations() throws {
        let store = try open()
        for number in 0..<40 { #expect(send(number, by: "phone", store) == .stored) }
        for number in 1000..<1300 {
            let destination = number % 2 == 0 ? "app" : "other"
            #expect(send(number, by: "greedy", to: destination, store) == .stored)
        }
        for number in 0..<40 {
            #expect(send(number, by: "phone", store) == BatchIdentity.of(number * 1000).repeated)
        }
    }

    @Test("Keys with too many requests get equal shares within the bound")
    func equal() throws {
        let store = try open()
        for round in 0..<3 {
            for (place, sender) in ["a", "b", "c", "d"].enumerated() {
                for number in 0..<50 {
                    let request = place * 10_000 + round * 1000 + number
                    #expect(send(request, by: sender, store) == .stored)
                }
            }
        }
        #expect(store.status.repeats.known <= 100)
        for place in 0..<4 {
            let last = place * 10_000 + 2000 + 49
            let sender = ["a", "b", "c", "d"][place]
            for number in (last - 20)...last {
                #expect(send(number, by: sender, store) == BatchIdentity.of(number * 1000).repeated)
            }
        }
    }

    @Test("The same request by another key is the same request")
    func rotated() throws {
        let store = try open()
        #expect(send(1, by: "old", store) == .stored)
        #expect(send(1, by: "new", store) == BatchIdentity.of(1000).repeated)
        #expect(send(1, by: nil, store) == BatchIdentity.of(1000).repeated)
    }
}

@Suite struct RepeatOwnersTests {
    private func owner(_ sender: Int, _ destination: String = "app") -> RepeatOwner {
        RepeatOwner(sender: "key-\(sender)", destination: destination)
    }

    @Test("The one with most forgets an eighth of its requests at most, the oldest first")
    func eighth() throws {
        var owners = RepeatOwners()
        for number in 0..<64 as Range<Int64> { owners.add(owner(1), number: number) }
        #expect(owners.displaced(atMost: 100) == nil, "one owner alone: the oldest of all go")
        for number in 64..<70 as Range<Int64> { owners.add(owner(2), number: number) }
        let eighth = try #require(owners.displaced(atMost: 100))
        #expect(eighth.owner == owner(1) && Array(eighth.numbers) == Array(0..<8))
        #expect(owners.displaced(atMost: 3).map { Array($0.numbers) } == [0, 1, 2])
        for number in 0..<60 as Range<Int64> { owners.remove(owner(1), number: number) }
        // Now the other one has most, and less than eight.
        let one = try #require(owners.displaced(atMost: 100))
        #expect(one.owner == owner(2) && Array(one.numbers) == [64])
    }

    @Test("Of a key with several destinations the one with most of its requests forgets")
    func destinations() throws {
        var owners = RepeatOwners()
        for number in 0..<16 as Range<Int64> { owners.add(owner(1, "a"), number: number) }
        for number in 16..<40 as Range<Int64> { owners.add(owner(1, "b"), number: number) }
        for number in 40..<70 as Range<Int64> { owners.add(owner(2), number: number) }
        let displaced = try #require(owners.displaced(atMost: 100))
        #expect(displaced.owner == owner(1, "b"), "40 of one key are more than 30 of another")
        #expect(Array(displaced.numbers) == [16, 17, 18])
    }

    @Test("More owners than are told apart have no shares")
    func ownersMax() {
        var owners = RepeatOwners()
        for number in 0..<RepeatOwners.ownersMax {
            owners.add(owner(number), number: Int64(number))
        }
        #expect(owners.displaced(atMost: 1) != nil)
        // Few of them share the bytes that tell owners apart.
        for number in RepeatOwners.ownersMax..<RepeatOwners.ownersMax + 64 {
            owners.add(owner(number), number: Int64(number))
        }
        #expect(owners.displaced(atMost: 1) == nil)
    }
}
