import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// What a turn looks at.
@Suite(.timeLimit(.minutes(1))) struct DirtyListsTests {
    let directory = TemporaryDirectory()
    private let clock = ManualClock()

    private func open() throws -> OpenStore {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations["app"]?.packet.age = .seconds(10)
        configuration.destinations["app"]?.logstoresMax = 10_000
        return try OpenStore.open(
            directory.path + "/queue.db",
            configuration,
            now: { [clock] in clock.now },
            handed: []
        ).0
    }

    @Test("A turn looks at the logstore that got logs or a request, and not at the thousand others")
    func outlets() throws {
        try DataDirectory(path: directory.path).create()
        let store = try open()
        var demand = Demand()
        let outlets = (0..<1000).map { Outlet.named("l\($0)") }
        for outlet in outlets {
            let stream = StreamKey.named("t", logstore: outlet.logstore)
            #expect(try store.intake.stage([Batch(stream: stream, logs: logs([1]))]) == nil)
            demand.raise(outlet, by: 1)
        }
        try store.intake.writeStaged()
        #expect(try store.handOver.packets(for: demand).isEmpty)
        #expect(store.destinations.dirty.takeOutlets(clock.now).isEmpty)
        #expect(store.handOver.nextDue == clock.now + .seconds(10))

        let more = StreamKey.named("t", logstore: "l7")
        #expect(try store.intake.stage([Batch(stream: more, logs: logs([2]))]) == nil)
        try store.intake.writeStaged()
        store.destinations.noteDemand(for: .named("l9"))
        let looked = store.destinations.dirty.takeOutlets(clock.now)
        #expect(looked.map(\.name.logstore) == ["l7", "l9"])
        for outlet in looked { store.destinations.dirty.looked(outlet, due: outlet.nextDue) }

        // Of age, all of them are.
        clock.advance(.seconds(11))
        #expect(try store.handOver.packets(for: demand).count == 1000)
        #expect(store.handOver.nextDue == nil)
        try store.commit()
    }

    @Test("Only destinations that changed are published, and one whose ledger is not stored stays")
    func destinations() throws {
        try DataDirectory(path: directory.path).create()
        let store = try open()
        for name in 0..<200 { _ = store.destinations.named("d\(name)") }
        store.destinations.dirty.published()
        #expect(store.destinations.dirty.changed.isEmpty)
        #expect(try store.intake.stage([Batch(stream: .named("t"), logs: logs([1]))]) == nil)
        try store.intake.writeStaged()
        #expect(store.destinations.dirty.changed.map(\.name) == ["app"])
        store.destinations.dirty.published()
        #expect(store.destinations.dirty.changed.map(\.name) == ["app"])
        try store.commit()
        store.destinations.dirty.published()
        #expect(store.destinations.dirty.changed.isEmpty)
    }

    @Test("Whether logstores have places is known from what changed, whatever the order")
    func places() throws {
        var book = LogstoreBook(most: 6)
        for name in ["a", "b", "c", "d"] { book.apply(.proven(name)) }
        for name in ["x", "y", "z"] { book.apply(.busy(name)) }
        #expect(!book.has("w") && book.has("x") && book.has("a") && !book.isOpen)
        book.apply(.proven("x"))
        #expect(book.has("w"))
        book.apply(.quiet("x"))
        book.apply(.quiet("x"))
        #expect(book.has("w") && book.busy == ["y", "z"])
        book.apply(.most(2))
        #expect(!book.has("w") && !book.has("a") && book.has("y"))
        book.apply(.quiet("y"))
        book.apply(.quiet("z"))
        #expect(book.isOpen)
    }
}
