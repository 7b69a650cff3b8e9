import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension DurableQueue {
    func decide(
        _ settings: [String: [UInt8]],
        resets: Set<String> = [],
        _ subject: String = "something"
    ) -> DecisionRefusal? {
        let entry = AuditEntry(
            actor: "admin",
            address: "127.0.0.1",
            action: "set",
            subject: subject
        )
        return answer { decide(Decision(settings, resets: resets, entry), whenDurable: $0) }
    }

    func recalled() throws -> [String: [UInt8]] {
        try answer { recall($0) }.get()
    }

    func audited(before id: Int64? = nil, limit: Int = 100) throws -> [AuditRecord] {
        try answer { audit(before: id, limit: limit, $0) }.get()
    }
}

@Suite(.timeLimit(.minutes(10))) struct DecisionTests {
    let directory = TemporaryDirectory()

    private func open() throws -> DurableQueue {
        try directory.open(.small(directory.path))
    }

    @Test("What was decided is there after a restart, and what was reset is not")
    func restart() throws {
        var store = try open()
        #expect(store.decide(["a": [1, 2], "b": [3]]) == nil)
        #expect(store.decide(["a": [4], "c": []], resets: ["b"]) == nil)
        store.close()
        store = try open()
        #expect(try store.recalled() == ["a": [4], "c": []])
    }

    @Test("The audit log tells the newest first, in pages, also after a restart")
    func audit() throws {
        do {
            let store = try open()
            defer { store.close() }
            for number in 1...5 { #expect(store.decide([:], "thing \(number)") == nil) }
        }
        let store = try open()
        let first = try store.audited(limit: 3)
        #expect(first.map(\.entry.subject) == ["thing 5", "thing 4", "thing 3"])
        let rest = try store.audited(before: first.last?.id)
        #expect(rest.map(\.entry.subject) == ["thing 2", "thing 1"])
        #expect(first.allSatisfy { $0.time.seconds > 0 && $0.entry.actor == "admin" })
    }

    @Test("A long text in the audit log is cut at a whole character")
    func longText() throws {
        let store = try open()
        #expect(store.decide([:], String(repeating: "ü", count: 10_000)) == nil)
        let subject = try #require(try store.audited().first).entry.subject
        #expect(subject.utf8.count <= AuditEntry.textBytesMax)
        #expect(subject.utf8.count > 1000 && subject.allSatisfy { $0 == "ü" })
    }

    @Test("Settings above the bound on number or size are refused")
    func bounds() throws {
        let store = try open()
        var many: [String: [UInt8]] = [:]
        for number in 0..<Decision.settingsMax { many["\(number)"] = [0] }
        #expect(store.decide(many) == nil)
        #expect(store.decide(["one more": [0]]) == .tooManySettings)
        #expect(store.decide([:], resets: ["0"]) == nil)
        #expect(store.decide(["one more": [0]]) == nil)
        #expect(store.decide(["1": [UInt8](repeating: 0, count: 65_537)]) == .tooLarge)
        #expect(try store.recalled().count == Decision.settingsMax)
    }

    @Test("With the greatest number of settings each can still be changed, reset or exchanged")
    func changesWhenFull() throws {
        let store = try open()
        var many: [String: [UInt8]] = [:]
        for number in 0..<Decision.settingsMax { many["\(number)"] = [0] }
        #expect(store.decide(many) == nil)
        #expect(store.decide(["1": [7]]) == nil)
        #expect(store.decide(["1": [8], "2": [8]], resets: ["3", "never there"]) == nil)
        #expect(store.decide(["3": [9]]) == nil)
        #expect(store.decide(["in its place": [1]], resets: ["4"]) == nil)
        // Of several all or none is stored.
        #expect(store.decide(["1": [1], "one more": [1]]) == .tooManySettings)
        #expect(store.decide(["one more": [1]], resets: ["one more"]) == .tooManySettings)
        let kept = try store.recalled()
        #expect(kept.count == Decision.settingsMax)
        #expect(kept["1"] == [8] && kept["3"] == [9] && kept["4"] == nil)
    }

    @Test("A full audit log drops its oldest entries")
    func trimmed() throws {
        let connection = try Connection(directory.path + "/audit.db", .readWrite)
        try QueueSchema.migrate(connection, from: 0)
        let transaction = try WriteTransaction(connection)
        let table = try DecisionTable(transaction)
        try transaction.begin()
        let entry = AuditEntry(actor: "a", address: "b", action: "c", subject: "d")
        for id in 1...(DecisionTable.entriesMax + 150) {
            try table.add(AuditRecord(id: id, time: .now, entry: entry))
        }
        try transaction.commit()
        let count = try connection.integer("SELECT count(*) FROM audit")
        let oldest = try connection.integer("SELECT min(id) FROM audit")
        #expect(count == DecisionTable.entriesMax && oldest == 151)
    }

    @Test("Entries of those who only looked are bounded by themselves, and push no change out")
    func trimmedLooks() throws {
        let connection = try Connection(directory.path + "/audit.db", .readWrite)
        try QueueSchema.migrate(connection, from: 0)
        let transaction = try WriteTransaction(connection)
        let table = try DecisionTable(transaction)
        try transaction.begin()
        var entry = AuditEntry(actor: "a", address: "b", action: "pause", subject: "d")
        try table.add(AuditRecord(id: 1, time: .now, entry: entry))
        for id in 2...(DecisionTable.looksMax + 150) {
            entry.action = AuditEntry.looks[Int(id) % AuditEntry.looks.count]
            try table.add(AuditRecord(id: id, time: .now, entry: entry))
        }
        try transaction.commit()
        let count = try connection.integer("SELECT count(*) FROM audit")
        #expect(count == DecisionTable.looksMax + 1)
        #expect(try connection.integer("SELECT min(id) FROM audit") == 1)
    }

    @Test("A closed store refuses decisions with its reason")
    func closed() throws {
        let store = try open()
        store.close()
        #expect(store.decide(["a": [1]]) == .queue(.stopping))
        #expect(throws: QueueError.self) { try store.recalled() }
    }

    @Test("A salvage keeps the decisions of a damaged file")
    func salvage() throws {
        do {
            let store = try open()
            defer { store.close() }
            #expect(store.decide(["a": [1, 2]], "first") == nil)
            _ = store.store(Batch(logs(0..<10)))
        }
        let path = directory.path + "/queue.db"
        let connection = try Connection(path, .readWrite)
        // A row that its stream does not know makes the start look closer.
        try connection.execute("UPDATE rows SET logs = -5")
        try connection.finish()
        let store = try open()
        #expect(try store.recalled() == ["a": [1, 2]])
        #expect(try store.audited().map(\.entry.subject) == ["first"])
    }
}
