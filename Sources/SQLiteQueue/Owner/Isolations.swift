import Queue
import SQLite
import System

/// Packets that their destination refused for their content, until they are split.
///
/// Splitting needs room, so a packet waits while there is none. Only a few packets of an outlet
/// wait here, so that a backlog of bad logs costs neither memory nor time. The store keeps the
/// others, and they are refused once more when some of these are done.
struct Isolations {
    private struct Isolation {
        let number: Int64
        let reason: DeathReason
        /// The room that the packet waits for. Nil until the first attempt.
        var needs: Int?
    }

    private let journal: Journal
    private var untried: [Isolation] = []
    /// Packets that wait for room, by destination, smallest need first: see `roomWaitersMax`.
    private var waiting: [String: [Isolation]] = [:]
    /// Packets that the current transaction splits.
    private var taken: Set<Int64> = []
    /// True if a transaction split as many packets as it may and more could be split.
    private(set) var hasMore = false
    private(set) var doneCount = 0
    private var roomPause = JournalPause()

    /// Splitting a packet reads, cuts and compresses it, and each dead letter is a row.
    private static let packetsMax = 64
    private static let bytesMax = 4 << 20

    init(_ journal: Journal) {
        self.journal = journal
    }

    mutating func add(_ number: Int64, because reason: DeathReason) {
        untried.append(Isolation(number: number, reason: reason))
    }

    /// The number of packets that delivery gave back to be isolated.
    var count: Int { waiting.values.reduce(untried.count) { $0 + $1.count } }

    /// True if the current transaction has measured the disk's room and used some of it.
    var hasUsedRoom: Bool { !taken.isEmpty }

    struct Context {
        let store: OpenStore
        let configuration: QueueConfiguration
        let room: DiskRoom
        let packets: PacketsInDelivery
    }

    /// Splits a bounded number of packets in the current transaction.
    mutating func takeApart(
        in here: Context,
        _ losses: inout TransactionLosses
    ) throws(SQLiteError) {
        taken.removeAll()
        hasMore = false
        guard !untried.isEmpty || !waiting.isEmpty else { return }
        try here.room.measure(here.store, here.configuration)
        var bytes = 0
        for line in waiting.values {
            // The packets behind it need more room.
            for isolation in line {
                guard let needs = isolation.needs, has(needs, for: isolation, in: here) else {
                    break
                }
                guard keepRoom(bytes) else { return }
                try takeApart(isolation, in: here, &losses, &bytes)
            }
        }
        for isolation in untried {
            guard keepRoom(bytes) else { return }
            try takeApart(isolation, in: here, &losses, &bytes)
        }
    }

    /// Called after the transaction is durable. Returns the packets that delivery no longer holds.
    mutating func settle() -> Set<Int64> {
        let done = taken
        if !done.isEmpty {
            remove(done)
            doneCount += done.count
            taken.removeAll()
        }
        return done
    }

    /// Called when no transaction can run.
    mutating func pause() { hasMore = false }

    /// Called when the packet left for another reason.
    mutating func remove(_ numbers: Set<Int64>) {
        untried.removeAll { numbers.contains($0.number) }
        for (name, line) in waiting where line.contains(where: { numbers.contains($0.number) }) {
            let rest = line.filter { !numbers.contains($0.number) }
            waiting[name] = rest.isEmpty ? nil : rest
        }
    }

    /// Called when another store is open: waiting packets may belong to other outlets.
    mutating func tryAgain() {
        for line in waiting.values {
            untried += line.map { Isolation(number: $0.number, reason: $0.reason) }
        }
        waiting = [:]
    }

    /// True if the packet waits for room to be isolated. Nil if it is not to be isolated.
    func waitsForRoom(_ number: Int64) -> Bool? {
        if untried.contains(where: { $0.number == number }) { return false }
        for line in waiting.values where line.contains(where: { $0.number == number }) {
            return true
        }
        return nil
    }

    // MARK: - One packet

    private mutating func keepRoom(_ bytes: Int) -> Bool {
        hasMore = taken.count >= Self.packetsMax || bytes >= Self.bytesMax
        return !hasMore
    }

    /// The space that splitting needs: it writes before it frees, and would fail with everything
    /// else of its transaction on a full disk.
    private static func space(for packet: QueuedPacket, _ tuning: QueueTuning) -> Int {
        2 * packet.record.raw + tuning.rowBytes
    }

    private func has(
        _ needs: Int,
        for isolation: Isolation,
        in here: Context
    ) -> Bool {
        guard let packet = here.store.packets[isolation.number] else { return true }
        let free = here.room.bytes - Self.space(for: packet, here.configuration.tuning)
        return free >= 0
            && min(free, here.store.weight.roomForDeaths(of: packet.stream.destination)) >= needs
    }

    private mutating func takeApart(
        _ isolation: Isolation,
        in here: Context,
        _ losses: inout TransactionLosses,
        _ bytes: inout Int
    ) throws(SQLiteError) {
        let number = isolation.number
        let store = here.store
        guard let packet = store.packets[number] else {
            taken.insert(number)
            return
        }
        let outlet = packet.stream.outlet
        let free = here.room.bytes - Self.space(for: packet, here.configuration.tuning)
        guard free >= 0 else { return wait(isolation, for: 0, packet, in: here) }
        let room = min(free, store.weight.roomForDeaths(of: packet.stream.destination))
        let before = store.weight.bytes
        bytes += packet.record.raw
        switch try store.isolation.isolate(number, because: isolation.reason, room: room) {
        case .done: break
        case .damaged: losses.note(damaged: try store.packets.mend(number), in: number)
        case .waits(let needs): return wait(isolation, for: needs, packet, in: here)
        }
        if isolation.needs != nil { outlet.roomWaiters -= 1 }
        let grown = max(0, store.weight.bytes - before)
        bytes += grown
        here.room.use(grown, of: free)
        taken.insert(number)
    }

    private mutating func wait(
        _ isolation: Isolation,
        for needs: Int,
        _ packet: QueuedPacket,
        in here: Context
    ) {
        let outlet = packet.stream.outlet
        here.store.packets.setAside(isolation.number)
        warn(outlet.destination, in: here)
        remove([isolation.number])
        if isolation.needs == nil {
            guard outlet.roomWaiters < QueuedOutlet.roomWaitersMax else {
                // Nothing of this is on the disk: after a reopening delivery does not hold the
                // packet.
                here.packets.takeBack([isolation.number])
                outlet.heldBack.append(isolation.number)
                return
            }
            outlet.roomWaiters += 1
        }
        var waiter = isolation
        waiter.needs = needs
        var line = waiting[outlet.name.destination] ?? []
        line.insert(waiter, at: line.firstIndex { $0.needs ?? 0 > needs } ?? line.endIndex)
        waiting[outlet.name.destination] = line
    }

    private mutating func warn(_ destination: QueuedDestination, in here: Context) {
        guard roomPause.tryStart() else { return }
        journal.warning(
            "refused packets wait: there is no room for dead letters",
            [
                "packets": count, "destination": destination.name,
                "bytes": destination.bytes, "limit": destination.rules.bytesMax,
                "queue_bytes": here.store.weight.bytes, "queue_limit": here.configuration.bytesMax,
                "remedy": "purge dead letters, free disk space or raise max_bytes",
            ]
        )
    }
}
