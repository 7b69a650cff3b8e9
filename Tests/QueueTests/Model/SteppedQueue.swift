import CommitLog
import Glibc
import Queue
import SQLite
import System
import TestCommitLog
import TestSupport

@testable import SQLiteQueue

/// A queue whose owner's turns are taken on the test's own thread: the same operations do the same
/// each time.
final class SteppedQueue {
    private(set) var directory: TemporaryDirectory
    private var configuration: QueueConfiguration
    private var life: (owner: QueueOwner, store: DurableQueue)?
    let clock = ManualClock()
    private let saboteur = Saboteur()
    private var log: MemoryCommitLog?
    private var generator: SeededGenerator
    private let arrived = Locked<[SealedPacket]>([])
    private let recalled = Locked<Set<Int64>>([])

    /// In memory where there is a file system for that: nothing here is about power cuts. Whoever
    /// runs many says where, and tidies up behind one that ends the process.
    init(_ settings: Settings, seed: UInt64) throws {
        let given = getenv("SLUICE_MODEL_PLACE").map { String(cString: $0) }
        let place = given ?? (access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp")
        directory = TemporaryDirectory(prefix: "\(place)/sluice-model-\(seed)-")
        configuration = settings.configuration(directory.path)
        configuration.commitRetries.pauseMin = .zero
        generator = SeededGenerator(seed: seed)
        if settings.hasCommitLog { log = MemoryCommitLog() }
        try begin()
    }

    var owner: QueueOwner {
        guard let life else { preconditionFailure("between two lives") }
        return life.owner
    }

    var store: DurableQueue {
        guard let life else { preconditionFailure("between two lives") }
        return life.store
    }

    private func begin() throws {
        configuration.commitLog = log
        log?.plan((0..<200).map { _ in randomFault() })
        let handle = try QueueHandle(configuration)
        let queueClock = QueueClock { [clock, saboteur] in
            saboteur.look()
            return clock.now
        }
        let owner = try QueueOwner(configuration, handle, clock: queueClock, .silent)
        let store = DurableQueue(handle)
        life = (owner, store)
        saboteur.owner = owner
        store.connect { [arrived, recalled] news in
            arrived.withLock { $0 += news.packets }
            recalled.withLock { $0.formUnion(news.recalled.map(\.number)) }
        }
    }

    /// One that the writer gets over.
    private func randomFault() -> MemoryCommitLog.Fault? {
        let faults: [MemoryCommitLog.Fault] = [
            .unanswered, .lost, .cut(1), .late, .refused, .unreachable,
        ]
        return .random(in: 0..<8, using: &generator) == 0
            ? faults.randomElement(using: &generator) : nil
    }

    var now: WallTime { clock.now }

    /// The store behind the handle, which is there between turns.
    func opened() throws(ModelFailure) -> OpenStore {
        guard let store = owner.store else { throw ModelFailure("the store is closed") }
        return store
    }

    /// Lets the owner do what was asked, and whatever comes of that.
    func run() throws(ModelFailure) {
        clock.advance(.milliseconds(1))
        for _ in 0..<2000 {
            let hasNews = owner.takeMessages()
            owner.turn()
            owner.doHousekeeping(isQuiet: !hasNews)
            if !hasNews, owner.store != nil, !owner.hasMore { return try compareLists() }
        }
        throw ModelFailure("the owner never comes to rest")
    }

    /// A turn looks only at what changed: a look at everything must find the same.
    private func compareLists() throws(ModelFailure) {
        let published = store.status
        owner.publish(everything: true)
        guard store.status == published else {
            throw ModelFailure("the status misses a change: \(published), not \(store.status)")
        }
        for destination in try opened().destinations.all {
            for outlet in destination.outlets.values where !outlet.isNoted {
                guard owner.delivery.outlets.demand.byOutlet[outlet.name] ?? 0 > 0 else { continue }
                let isDrained =
                    outlet.pieces.isEmpty && outlet.sealedBefore.isEmpty
                    && outlet.postponed.isEmpty
                let isFiled =
                    outlet.nextDue.map { due in outlet.filedDue.map { $0 <= due } ?? false } ?? true
                guard isDrained, isFiled || !outlet.findFreeLane() else {
                    throw ModelFailure("nobody looks at \(outlet.name)")
                }
            }
        }
    }

    /// Housekeeping, now and until it is done.
    func doHousekeeping() throws(ModelFailure) {
        mend()
        owner.schedule.makeHousekeepingDue()
        for _ in 0..<2000 {
            owner.doHousekeeping(isQuiet: false)
            if try !opened().expiry.isUnderWay { return }
        }
        throw ModelFailure("expiry never ends")
    }

    func apply(_ rules: [String: DestinationRules]) {
        configuration.destinations = rules
        store.apply(rules)
    }

    func takePackets() -> [SealedPacket] {
        arrived.withLock { arrived in
            defer { arrived = [] }
            return arrived
        }
    }

    func isRecalled(_ number: Int64) -> Bool { recalled.withLock { $0.contains(number) } }

    // MARK: - Failures

    func fail(after looks: Int) { saboteur.looks = looks }

    /// Whether the next write may fail.
    func isSabotaged() throws -> Bool {
        guard saboteur.looks == nil else { return true }
        return try opened().database.connection.integer("PRAGMA query_only") != 0
    }

    /// The disk is as it was.
    func mend() {
        saboteur.looks = nil
        try? owner.store?.database.connection.execute("PRAGMA query_only = OFF")
    }

    // MARK: - Ends of a life

    enum End {
        case orderly
        case crash
        /// The ledger has a number that cannot be.
        case damaged
    }

    func restart(_ end: End) throws {
        mend()
        if end == .crash {
            // What was asked and not done stays behind in the directory that is left.
            directory = directory.copy()
            configuration.directory = directory.path
            log = log?.copy()
        } else {
            store.close()
            owner.run()
        }
        arrived.withLock { $0 = [] }
        recalled.withLock { $0 = [] }
        life = nil
        if end == .damaged {
            try execute(in: directory.path + "/queue.db", "UPDATE ledger SET accepted = -1")
        }
        try begin()
    }
}

/// Takes the right to write from the database after some looks at the clock, so that a transaction
/// fails somewhere in its middle. Unchecked: all of it happens on the one thread that takes the
/// turns.
private final class Saboteur: @unchecked Sendable {
    weak var owner: QueueOwner?
    var looks: Int?

    func look() {
        guard let left = looks else { return }
        looks = left > 0 ? left - 1 : nil
        guard left == 0 else { return }
        try? owner?.store?.database.connection.execute("PRAGMA query_only = ON")
    }
}
