import Net
import System
import TestSupport
import Testing

@testable import Resolvers

/// A use of a host that needs a new answer asks for one, whenever it comes.
@Suite struct HostUseTests {
    private let wishes = SharedValue(0)
    private let door: HostAddresses
    private let entry = HostEntry(HostEntry.Key(host: "app.example.com", resolvers: ["ali"]))
    private let start = Moment.now

    init() {
        let wishes = wishes
        let wanted: @Sendable (HostAddresses, Bool) -> Void = { _, _ in wishes.change { $0 += 1 } }
        let signals = HostAddresses.Signals(wanted: wanted, changed: { _ in })
        door = HostAddresses("app.example.com", port: 443, ["ali"], signals)
        entry.add(door, start)
    }

    /// An answer that holds for 100 s and is asked for again after 75 s if it is used.
    private func answer(staleFor time: Duration = .seconds(1000)) throws {
        let address = try #require(IPAddress("192.0.2.7"))
        let answer = HostEntry.Answer(
            addresses: [address],
            resolver: "ali",
            expires: start + .seconds(100),
            refresh: start + .seconds(75),
            ends: start + .seconds(100) + time
        )
        entry.answered(answer, start)
    }

    private func isDue(after seconds: Int) -> Bool {
        _ = entry.advance(start + .seconds(seconds))
        return entry.isDue(start + .seconds(seconds))
    }

    @Test("A use after the time of the refresh counts when the answer becomes stale")
    func lateUse() throws {
        try answer()
        #expect(!isDue(after: 75))
        _ = door.view
        #expect(!isDue(after: 99))
        #expect(isDue(after: 100))
        #expect(wishes.now == 0)
    }

    @Test("An unused answer waits for a use", arguments: [Duration.zero, .seconds(1000)])
    func unused(staleFor time: Duration) throws {
        try answer(staleFor: time)
        #expect(!isDue(after: 75) && !isDue(after: 100))
        _ = door.view
        _ = door.view
        #expect(wishes.now == 1)
    }

    /// The sender read the view, the resolvers' thread showed another and took the uses, and only
    /// then the sender noted its use.
    @Test("A use that the resolvers' thread did not see asks for an answer itself")
    func overtaken() throws {
        try answer()
        let fresh = door.view
        #expect(isDue(after: 75))
        try answer()
        #expect(!isDue(after: 75) && !isDue(after: 100))
        door.noteUse(fresh)
        #expect(wishes.now == 1)
    }
}
