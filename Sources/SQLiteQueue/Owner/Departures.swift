import Queue
import System

/// Packets that delivery gave back without having delivered them, until they are dealt with; and what became
/// of such since the start.
struct Departures {
    /// Refused by their destination for what is in them, and not tried yet.
    var isolations: [Isolation] = []
    /// Those that wait for room, of each destination the ones that need least first. Few of each outlet: see
    /// `QueuedOutlet.roomWaitersMax`.
    private(set) var waiting: [String: [Isolation]] = [:]
    /// Dropped because the operator wants it so.
    var discards: [(number: Int64, reason: DeathReason)] = []

    /// Those of the transaction at hand.
    var isolated: Set<Int64> = []
    var discarded: [(destination: String, logs: Int, reason: DeathReason)] = []
    /// A transaction took apart as many as it may, and others could be.
    var hasMore = false

    var isolationsDone = 0
    var discardsOf: [String: Discards] = [:]

    // What the journal has not said yet, and when it may.
    var unsaidLogs = 0
    var nextWarning = Moment(nanoseconds: 0)
    var nextRoomWarning = Moment(nanoseconds: 0)

    struct Isolation {
        let number: Int64
        let reason: DeathReason
        /// Room that it waits for; nil until it was tried.
        var needs: Int?
    }

    struct Discards: Equatable {
        var logs = 0
        var last: DeathReason
    }

    /// Packets of one transaction, and bytes: taking a packet apart reads, cuts and compresses it, and each dead
    /// letter is a row.
    static let packetsMax = 64
    static let bytesMax = 4 << 20

    mutating func isolate(_ number: Int64, because reason: DeathReason) {
        isolations.append(Isolation(number: number, reason: reason))
    }

    var isIsolating: Bool { !isolations.isEmpty || !waiting.isEmpty }

    /// Packets that delivery gave back to be isolated.
    var isolationCount: Int { waiting.values.reduce(isolations.count) { $0 + $1.count } }

    mutating func wait(_ isolation: Isolation, for needs: Int, of destination: String) {
        forget([isolation.number])
        var waiter = isolation
        waiter.needs = needs
        var line = waiting[destination] ?? []
        line.insert(waiter, at: line.firstIndex { $0.needs ?? 0 > needs } ?? line.endIndex)
        waiting[destination] = line
    }

    /// Nil when the packet is not to be isolated.
    func isolation(of number: Int64) -> Isolation? {
        if let found = isolations.first(where: { $0.number == number }) { return found }
        for line in waiting.values {
            if let found = line.first(where: { $0.number == number }) { return found }
        }
        return nil
    }

    mutating func forget(_ numbers: Set<Int64>) {
        isolations.removeAll { numbers.contains($0.number) }
        for (name, line) in waiting where line.contains(where: { numbers.contains($0.number) }) {
            let rest = line.filter { !numbers.contains($0.number) }
            waiting[name] = rest.isEmpty ? nil : rest
        }
    }

    /// The store is another, and what waits may belong elsewhere.
    mutating func tryAgain() {
        for line in waiting.values {
            isolations += line.map { Isolation(number: $0.number, reason: $0.reason) }
        }
        waiting = [:]
    }
}
