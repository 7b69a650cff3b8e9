import Queue
import SQLite

/// The content of a damaged database that is still to be copied. The new database stores it and
/// changes it in the transactions that copy: a crash between two loses and repeats nothing.
struct Remainder: Equatable {
    /// The tables that are copied piece by piece, in this order.
    enum Phase: Int64 {
        case packets
        case rows
        case letters
    }

    /// The file's name in the data directory.
    let file: String
    /// No number in the file is higher.
    let highest: Int64
    var phase = Phase.packets
    /// Everything with a number up to this one is copied or unreadable.
    var through: Int64 = 0
    /// Packets with missing rows. Their remaining rows are copied as waiting rows.
    var broken: [Int64] = []
    /// The counted logs that were not found yet, by destination. At the end they are lost.
    var queued: [String: Int64] = [:]
    var dead: [String: Int64] = [:]
    /// Logs and dead letters that were copied.
    var savedLogs: Int64 = 0
    /// True if read errors hid a part. The file is kept: it may have the only copy of logs.
    var hasUnreadable = false

    init(of file: String, upTo highest: Int64) {
        self.file = file
        self.highest = highest
    }

    var logs: Int64 { (Array(queued.values) + dead.values).reduce(0, +) }

    /// True if the packet is not copied yet.
    func mayHave(packet number: Int64) -> Bool {
        phase == .packets && through < number && number <= highest
    }

    /// True if rows of the packet may still be copied, even if the packet's record is lost.
    func mayHaveRows(of number: Int64) -> Bool {
        phase != .letters && number <= highest
    }

    // MARK: - As bytes

    var bytes: [UInt8] {
        var writer = ProvedWriter()
        for number in [highest, phase.rawValue, through, savedLogs] { writer.add(number) }
        writer.add(Int64(broken.count))
        for number in broken { writer.add(number) }
        for logs in [queued, dead] {
            writer.add(Int64(logs.count))
            for (name, count) in logs {
                writer.add(name)
                writer.add(count)
            }
        }
        writer.add(hasUnreadable ? 1 : 0)
        return writer.proved
    }

    /// Nil if the bytes are not the stored form.
    init?(of file: String, _ bytes: [UInt8]) {
        guard var reader = ProvedReader(bytes), let highest = reader.number(),
            let phase = reader.number().flatMap(Phase.init), let through = reader.number(),
            let savedLogs = reader.number(), let brokenCount = reader.number()
        else { return nil }
        self.init(of: file, upTo: highest)
        self.phase = phase
        self.through = through
        self.savedLogs = savedLogs
        for _ in 0..<max(0, brokenCount) {
            guard let number = reader.number() else { return nil }
            broken.append(number)
        }
        guard let queued = reader.logs(), let dead = reader.logs() else { return nil }
        self.queued = queued
        self.dead = dead
        hasUnreadable = reader.number() == 1
    }

    // The new database begins with the ledgers of the damaged one. `queued` and `dead` hold the
    // counted logs that were not found yet. The rest at the end is lost.

    /// The destination's ledger in the new database, with all its logs still to be found.
    mutating func begin(_ destination: String, with old: Ledger) -> Ledger {
        var ledger = old
        if !old.isClosed {
            // If it does not add up, counts of logs that came and left are trusted more than of
            // present ones.
            let here = max(0, old.accepted - old.delivered - old.expired - old.discarded)
            let dead = min(old.dead, here)
            ledger.close(queued: here - dead, dead: dead)
        }
        queued[destination] = ledger.queued
        dead[destination] = ledger.dead
        return ledger
    }

    /// Subtracts logs of an earlier salvage: the ledgers count them, but they are in another file.
    mutating func leaveOut(_ earlier: Remainder) {
        for (name, logs) in earlier.queued { queued[name]? -= logs }
        for (name, logs) in earlier.dead { dead[name]? -= logs }
    }

    /// A ledger for each destination without one in the new database.
    func ledgers(besides known: Set<String>) -> [String: Ledger] {
        var new: [String: Ledger] = [:]
        for name in Set(queued.keys).union(dead.keys).subtracting(known) {
            var ledger = Ledger()
            ledger.close(queued: max(0, queued[name] ?? 0), dead: max(0, dead[name] ?? 0))
            new[name] = ledger
        }
        return new
    }

    /// Counts waiting logs or dead letters that were found.
    mutating func found(
        _ logs: Int64,
        of destination: String,
        areDead: Bool,
        in ledger: inout Ledger
    ) {
        savedLogs += logs
        let own: WritableKeyPath<Remainder, [String: Int64]> = areDead ? \.dead : \.queued
        let other: WritableKeyPath<Remainder, [String: Int64]> = areDead ? \.queued : \.dead
        // A log that counts as queued and is found dead, or the reverse, is not lost. A log that
        // the ledger does not count was accepted after it was written.
        let known = max(0, min(logs, self[keyPath: own][destination] ?? 0))
        let changed = max(0, min(logs - known, self[keyPath: other][destination] ?? 0))
        self[keyPath: own][destination, default: 0] -= known
        self[keyPath: other][destination, default: 0] -= changed
        let new = logs - known - changed
        ledger.accepted += new
        if areDead {
            ledger.queued -= changed
            ledger.dead += changed + new
        } else {
            ledger.queued += changed + new
            ledger.dead -= changed
        }
    }

    /// Counts logs that are not copied because the destination has stored them.
    mutating func delivered(_ logs: Int64, of destination: String, in ledger: inout Ledger) {
        let known = min(logs, max(0, queued[destination] ?? 0))
        queued[destination, default: 0] -= known
        ledger.queued -= known
        ledger.delivered += known
    }

    /// The ledger after everything is copied. Logs that were not found are lost.
    func end(_ destination: String, with old: Ledger) -> Ledger {
        var ledger = old
        ledger.close(
            queued: old.queued - (queued[destination] ?? 0),
            dead: old.dead - (dead[destination] ?? 0)
        )
        return ledger
    }
}

// MARK: - On the disk

/// These settings exist only in a database that replaced a damaged one.
extension QueueDatabase {
    private static let remainderSettings = "aside/"
    private static let acknowledgedSettings = "acknowledged/"

    /// The remainders, oldest first. One with a wrong checksum is ignored: its file stays, and a
    /// start finds its counted logs missing.
    static func remainders(_ connection: Connection) throws(SQLiteError) -> [Remainder] {
        var remainders: [Remainder] = []
        for (name, value) in try SettingTable.values(remainderSettings, in: connection) {
            if let remainder = Remainder(of: name, value) { remainders.append(remainder) }
        }
        return remainders
    }

    /// Packets that were acknowledged and not copied yet, with the places of their rows.
    static func acknowledgedAside(
        _ connection: Connection
    ) throws(SQLiteError) -> [Int64: PacketPlace] {
        var acknowledged: [Int64: PacketPlace] = [:]
        for (name, value) in try SettingTable.values(acknowledgedSettings, in: connection) {
            guard let number = Int64(name) else { continue }
            acknowledged[number] = PacketPlace(value) ?? .unknown
        }
        return acknowledged
    }

    func save(_ remainder: Remainder) throws(SQLiteError) {
        try settings.save(remainder.bytes, as: Self.remainderSettings + remainder.file)
    }

    func saveAcknowledgedAside(_ number: Int64, _ place: PacketPlace) throws(SQLiteError) {
        try settings.save(place.bytes, as: "\(Self.acknowledgedSettings)\(number)")
    }

    /// Makes a new database replace one that is not readable at all yet.
    func beginWithout(_ remainder: Remainder) throws(SQLiteError) {
        try write()
        try settings.save(remainder.highest, as: IdentifierSupply.setting)
        try save(remainder)
        try commit()
    }

    /// Continues an earlier salvage. If the old ledgers are lost, new ones count its logs.
    func adopt(_ earlier: Remainder) throws(SQLiteError) {
        let highest = max(try IdentifierSupply.highest(connection), earlier.highest)
        try settings.save(highest, as: IdentifierSupply.setting)
        for (name, ledger) in earlier.ledgers(besides: Set(try ledgers.all().keys)) {
            try ledgers.save(ledger, of: name)
        }
        try settleIntake()
        try save(earlier)
    }

    /// Removes a remainder that is completely copied.
    func remove(_ remainder: Remainder) throws(SQLiteError) {
        try settings.remove(Self.remainderSettings + remainder.file)
        guard try Self.remainders(connection).isEmpty else { return }
        for number in try Self.acknowledgedAside(connection).keys {
            try settings.remove("\(Self.acknowledgedSettings)\(number)")
        }
    }
}
