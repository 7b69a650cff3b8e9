import Configuration
import Net
import System
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(1))) struct AddressBookTests {
    private static let start = Moment(nanoseconds: 5_000_000_000)
    private let pace = RateBudget(Allowance(2))

    private func address(_ number: Int) -> Neighbourhood {
        IPAddress(v4: UInt32(0x0A00_0000 + number)).neighbourhood
    }

    private func take(
        _ book: AddressBook,
        _ number: Int,
        atMost most: Int = 65_536,
        at now: Moment = start
    ) -> Bool {
        book.take(1, of: .rate, pace, for: address(number), atMost: most, at: now) == nil
    }

    @Test("Each address has a budget of its own, a v6 network one for all of it")
    func own() throws {
        let book = AddressBook()
        for number in 0..<100 {
            #expect(take(book, number) && take(book, number))
            #expect(!take(book, number))
        }
        let (one, two) = (IPAddress("2001:db8::1"), IPAddress("2001:db8::ffff:2"))
        for (ip, fits) in [(one, true), (two, true), (one, false), (two, false)] {
            let place = try #require(ip).neighbourhood
            let time = book.take(1, of: .rate, pace, for: place, atMost: 65_536, at: Self.start)
            #expect((time == nil) == fits)
        }
        #expect(book.counts == [.addresses: 101, .refusedRate: 102])
    }

    @Test("Requests and bytes are counted apart")
    func parts() {
        let book = AddressBook()
        #expect(take(book, 1) && take(book, 1) && !take(book, 1))
        let bytes = RateBudget(Allowance(10))
        func takeBytes(_ count: Int) -> Bool {
            book.take(count, of: .bytes, bytes, for: address(1), atMost: 64, at: Self.start) == nil
        }
        func ask(_ count: Int) -> Bool {
            book.take(
                count,
                of: .bytes,
                bytes,
                for: address(1),
                atMost: 64,
                at: Self.start,
                onlyAsking: true
            ) == nil
        }
        for _ in 0..<3 { #expect(ask(10) && !ask(11)) }
        #expect(takeBytes(10))
        #expect(!takeBytes(1))
        book.charge(100, of: .bytes, bytes, for: address(1), atMost: 64, at: Self.start)
        #expect(
            book.take(1, of: .bytes, bytes, for: address(1), atMost: 64, at: Self.start)
                == .milliseconds(10_100)
        )
    }

    @Test("A reload that raises what addresses may send helps those that are waiting")
    func raised() {
        let book = AddressBook()
        func wait(_ pace: RateBudget) -> Duration? {
            book.take(1, of: .rate, pace, for: address(1), atMost: 64, at: Self.start)
        }
        let slow = RateBudget(Allowance(1, per: .hour))
        #expect(wait(slow) == nil)
        #expect(wait(slow) == .seconds(3600))
        #expect(wait(RateBudget(Allowance(200))) == .milliseconds(5))
    }

    @Test("The book has its bound; newcomers share then, and those who are there keep theirs")
    func full() {
        let book = AddressBook()
        let most = AddressBook.pagesCount * 4
        // Enough that every page is full.
        for number in 0..<10_000 { _ = take(book, number, atMost: most) }
        let crowd = book.counts
        #expect(crowd[.addresses] == most)
        // Two for each that is remembered, and two for the newcomers of each page.
        var passed = 0
        for number in 0..<10_000 where take(book, number, atMost: most) { passed += 1 }
        #expect(passed == most)
        #expect(book.counts[.shared] > 0)
        for number in 20_000..<30_000 { #expect(!take(book, number, atMost: most)) }
        #expect(book.counts[.addresses] == most)
    }

    @Test("Whoever has all of its budget again is forgotten for a newcomer")
    func forgotten() {
        let book = AddressBook()
        let most = AddressBook.pagesCount
        for number in 0..<10_000 { _ = take(book, number, atMost: most) }
        let later = Self.start + .milliseconds(1001)
        var passed = 0
        for number in 10_000..<20_000 where take(book, number, atMost: most, at: later) {
            passed += 1
        }
        // One for each page, and two shared in each.
        #expect(passed == most * 3)
        #expect(book.counts[.addresses] == most)
    }

    @Test("Four threads together get no more for an address than it may have")
    func concurrent() throws {
        let (book, taken) = (AddressBook(), CounterList(count: 1))
        let workers = try (0..<4).map { index in
            try Worker("sender-\(index)") {
                for step in 0..<5000 where take(book, step % 50) { taken.add(1, at: 0) }
            }
        }
        for worker in workers { worker.join() }
        #expect(taken[0] == 100)
    }
}
