import Logs
import Queue
import SQLite
import System

/// The tables of decided settings and of the audit log.
final class DecisionTable {
    /// The greatest number of entries in the audit log. New entries replace the oldest ones.
    static let entriesMax: Int64 = 10_000
    /// Of them, entries of those who only looked: they push no change out.
    static let looksMax: Int64 = 2_000

    private let transaction: WriteTransaction
    private let save: Statement
    private let remove: Statement
    private let count: Statement
    private let isKept: Statement
    private let all: Statement
    private let addEntry: Statement
    private let trim: Statement
    private let trimLooks: Statement
    private let newest: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        save = try transaction.prepare("INSERT OR REPLACE INTO decisions VALUES (?, ?)")
        remove = try transaction.prepare("DELETE FROM decisions WHERE name = ?")
        count = try transaction.prepare("SELECT count(*) FROM decisions")
        isKept = try transaction.prepare("SELECT EXISTS (SELECT 1 FROM decisions WHERE name = ?)")
        all = try transaction.prepare("SELECT * FROM decisions LIMIT \(Decision.settingsMax)")
        addEntry = try transaction.prepare(
            "INSERT OR REPLACE INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        trim = try transaction.prepare(
            """
            DELETE FROM audit WHERE id IN
                (SELECT id FROM audit ORDER BY id DESC LIMIT 100 OFFSET \(Self.entriesMax))
            """
        )
        trimLooks = try transaction.prepare(
            """
            DELETE FROM audit WHERE id IN
                (SELECT id FROM audit WHERE action IN (\(AuditEntry.looks.map { "'\($0)'" }.joined(separator: ", ")))
                ORDER BY id DESC LIMIT 100 OFFSET \(Self.looksMax))
            """
        )
        newest = try transaction.prepare(
            "SELECT * FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?"
        )
    }

    /// A stored setting can always change, and removals of a decision make room for its additions.
    func hasRoom(for decision: Decision) throws(SQLiteError) -> Bool {
        var growth = 0
        for name in decision.settings.keys { growth += try keeps(name) ? 0 : 1 }
        for name in decision.resets.subtracting(decision.settings.keys) {
            growth -= try keeps(name) ? 1 : 0
        }
        guard growth > 0 else { return true }
        return try count.single() + growth <= Decision.settingsMax
    }

    private func keeps(_ name: String) throws(SQLiteError) -> Bool {
        isKept.bind(1, name)
        return try isKept.single() > 0
    }

    func set(_ name: String, to value: [UInt8]) throws(SQLiteError) {
        save.bind(1, name)
        save.bind(2, value)
        try transaction.run(save)
    }

    func reset(_ name: String) throws(SQLiteError) {
        remove.bind(1, name)
        try transaction.run(remove)
    }

    func settings() throws(SQLiteError) -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        while try all.step() { found[all.text(0)] = all.bytes(1) }
        return found
    }

    func add(_ record: AuditRecord) throws(SQLiteError) {
        let entry = record.entry
        let texts = [
            entry.actor, entry.address, entry.action, entry.subject, entry.before, entry.after,
        ]
        addEntry.bind(1, record.id)
        addEntry.bind(2, record.time.nanoseconds)
        for (index, text) in texts.enumerated() {
            addEntry.bind(CInt(3 + index), text.prefix(bytes: AuditEntry.textBytesMax))
        }
        try transaction.run(addEntry)
        try trim.run()
        // It reads the whole log, but few looks of a token are recorded.
        if entry.isLook { try trimLooks.run() }
    }

    func entries(before id: Int64, limit: Int) throws(SQLiteError) -> [AuditRecord] {
        newest.bind(1, id)
        newest.bind(2, Int64(limit))
        var found: [AuditRecord] = []
        while try newest.step() {
            found.append(
                AuditRecord(
                    id: newest.integer(0),
                    time: WallTime(nanoseconds: newest.integer(1)),
                    entry: AuditEntry(
                        actor: newest.text(2),
                        address: newest.text(3),
                        action: newest.text(4),
                        subject: newest.text(5),
                        before: newest.text(6),
                        after: newest.text(7)
                    )
                )
            )
        }
        return found
    }
}
