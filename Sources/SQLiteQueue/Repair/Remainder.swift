import SQLite

/// The content of a damaged database that is still to be copied. The database that replaced it
/// stores the remainder, and the transactions that copy change it: a crash between two of them
/// loses and repeats nothing.
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
    /// The queued logs and the dead letters that the ledger counts and that were not found yet, by
    /// destination. After everything is copied they are lost.
    var queued: [String: Int64] = [:]
    var dead: [String: Int64] = [:]
    /// Logs and dead letters that were copied.
    var savedLogs: Int64 = 0
    /// True if read errors hid a part of the file, which was skipped. The file is kept: it may have
    /// the only copy of logs.
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

    /// True if rows of the packet may still be copied. If the packet's record is lost, the table of
    /// rows still has them.
    func mayHaveRows(of number: Int64) -> Bool {
        phase != .letters && number <= highest
    }
}

// MARK: - As bytes

extension Remainder {
    var bytes: [UInt8] {
        var writer = Writer()
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
        guard var reader = Reader(bytes), let highest = reader.number(),
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
        // The first version did not write this number.
        hasUnreadable = reader.number() == 1
    }

    private struct Writer {
        private var bytes: [UInt8] = []

        mutating func add(_ number: Int64) {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }

        mutating func add(_ text: String) {
            add(Int64(text.utf8.count))
            bytes += text.utf8
        }

        /// Ends with a checksum, because the table of settings has none.
        var proved: [UInt8] {
            var writer = self
            writer.add(Reader.checksum(bytes[...]))
            return writer.bytes
        }
    }

    private struct Reader {
        private var rest: ArraySlice<UInt8>

        init?(_ bytes: [UInt8]) {
            guard bytes.count >= 8 else { return nil }
            rest = bytes.suffix(8)
            let checksum = number()
            rest = bytes.dropLast(8)
            guard checksum == Self.checksum(rest) else { return nil }
        }

        static func checksum(_ bytes: ArraySlice<UInt8>) -> Int64 {
            var checksum = Checksum()
            checksum.add(Array(bytes))
            return Int64(bitPattern: checksum.value)
        }

        mutating func number() -> Int64? {
            guard rest.count >= 8 else { return nil }
            defer { rest = rest.dropFirst(8) }
            return rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int64($1) }
        }

        mutating func logs() -> [String: Int64]? {
            guard let count = number() else { return nil }
            var logs: [String: Int64] = [:]
            for _ in 0..<max(0, count) {
                guard let length = number(), 0...rest.count ~= Int(clamping: length) else {
                    return nil
                }
                let name = String(decoding: rest.prefix(Int(length)), as: UTF8.self)
                rest = rest.dropFirst(Int(length))
                guard let number = number() else { return nil }
                logs[name] = number
            }
            return logs
        }
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
        for (name, value) in try settings(connection, remainderSettings) {
            if let remainder = Remainder(of: name, value) { remainders.append(remainder) }
        }
        return remainders
    }

    /// Packets that were acknowledged and not copied yet, with the places of their rows.
    static func acknowledgedAside(
        _ connection: Connection
    ) throws(SQLiteError) -> [Int64: PacketPlace] {
        var acknowledged: [Int64: PacketPlace] = [:]
        for (name, value) in try settings(connection, acknowledgedSettings) {
            guard let number = Int64(name) else { continue }
            acknowledged[number] = PacketPlace(value) ?? .unknown
        }
        return acknowledged
    }

    private static func settings(
        _ connection: Connection,
        _ prefix: String
    ) throws(SQLiteError) -> [(name: String, value: [UInt8])] {
        let all = try connection.prepare(
            "SELECT name, value FROM settings WHERE name BETWEEN ?1 AND ?2 ORDER BY name"
        )
        all.bind(1, prefix)
        // The character that follows the slash.
        all.bind(2, prefix.dropLast() + "0")
        var found: [(name: String, value: [UInt8])] = []
        while try all.step() {
            found.append((String(all.text(0).dropFirst(prefix.count)), all.bytes(1)))
        }
        return found
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

    /// Continues with the remainder of an earlier salvage. If the old ledgers are lost, new ones
    /// count its logs.
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
