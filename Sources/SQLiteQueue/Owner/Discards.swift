import Queue
import SQLite
import System

/// Refused packets that are dropped on the operator's wish, and the number of their logs since the
/// start.
struct Discards {
    struct Sum: Equatable {
        var logs = 0
        /// The reason of the last dropped packet.
        var last: DeathReason
    }

    private let journal: Journal
    private var waiting: [(number: Int64, reason: DeathReason)] = []
    /// Packets that the current transaction dropped.
    private var dropped: [(destination: String, logs: Int, reason: DeathReason)] = []
    private var sums: [String: Sum] = [:]
    private var untoldLogs = 0
    private var pause = JournalPause()

    init(_ journal: Journal) {
        self.journal = journal
    }

    mutating func add(_ number: Int64, because reason: DeathReason) {
        waiting.append((number, reason))
    }

    func sum(of destination: String) -> Sum? { sums[destination] }

    /// Removes the packets in the current transaction.
    mutating func drop(in store: OpenStore) throws(SQLiteError) {
        dropped.removeAll()
        for (number, reason) in waiting {
            let name = store.packets[number]?.stream.key.destination
            let logs = try store.packets.discard(number)
            if let name { dropped.append((name, logs, reason)) }
        }
    }

    /// Called after the transaction is durable. Returns the packets that delivery no longer holds.
    mutating func settle() -> [Int64] {
        guard !waiting.isEmpty else { return [] }
        for (name, logs, reason) in dropped {
            sums[name, default: Sum(last: reason)].logs += logs
            sums[name]?.last = reason
            untoldLogs += logs
        }
        dropped.removeAll()
        defer { waiting.removeAll() }
        return waiting.map(\.number)
    }

    /// Reports once a minute the number of dropped logs and the latest codes.
    mutating func announce() {
        guard untoldLogs > 0, pause.tryStart() else { return }
        journal.warning(
            "logs are discarded: the configuration drops refused packets",
            [
                "logs": untoldLogs,
                "codes": Set(sums.values.map(\.last.code)).sorted().joined(separator: ","),
                "remedy": "see the destination's status, or set drop_unauthorized to false",
            ]
        )
        untoldLogs = 0
    }
}
