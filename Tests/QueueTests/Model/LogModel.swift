import Logs
import Queue
import System

@testable import SQLiteQueue

/// Every log that was ever sent, each in one place, and what the ledgers must say of that.
struct LogModel {
    private(set) var logs: [ModelLog] = []
    private(set) var ledgers: [String: Ledger] = [:]
    private(set) var tally = IntakeTally()
    /// By what it is made of, so that looking one up compares every byte.
    private var byBytes: [[UInt8]: Int] = [:]
    private var order = 0

    subscript(number: Int) -> ModelLog {
        get { logs[number] }
        set { logs[number] = newValue }
    }

    mutating func make(_ stream: StreamKey, stamp: Int64, filling: Int) -> Int {
        let log = ModelLog(logs.count, stream, stamp: stamp, filling: filling)
        logs.append(log)
        byBytes[log.bytes] = log.number
        return log.number
    }

    mutating func accept(_ number: Int, as place: ModelLog.Place, _ now: WallTime) {
        logs[number].received = now
        ledgers[logs[number].stream.destination, default: Ledger()].accepted += 1
        move(number, to: place, now)
    }

    mutating func count(_ tally: IntakeTally) { self.tally += tally }

    /// Logs of an optional batch that found no room.
    mutating func skip(_ count: Int, of destination: String) {
        ledgers[destination, default: Ledger()].skipped += Int64(count)
    }

    /// Accepted and discarded without ever having been here.
    mutating func drop(_ count: Int, of destination: String) {
        ledgers[destination, default: Ledger()].accepted += Int64(count)
        ledgers[destination, default: Ledger()].discarded += Int64(count)
    }

    mutating func move(_ number: Int, to place: ModelLog.Place, _ now: WallTime) {
        let destination = logs[number].stream.destination
        if let account = logs[number].place.account {
            ledgers[destination, default: Ledger()][keyPath: account] -= 1
        }
        if let account = place.account {
            ledgers[destination, default: Ledger()][keyPath: account] += 1
        }
        logs[number].place = place
        logs[number].packet = nil
        if place == .dead { logs[number].died = now }
        if place == .queued {
            order += 1
            logs[number].order = order
            logs[number].received = now
            logs[number].parent = nil
            logs[number].isLoose = false
        }
    }

    /// Its packet is gone, and it waits for another.
    mutating func release(_ number: Int) {
        logs[number].parent = logs[number].packet
        logs[number].packet = nil
    }

    mutating func edit(_ number: Int, filling: Int) {
        byBytes[logs[number].bytes] = nil
        logs[number].edit(filling: filling)
        byBytes[logs[number].bytes] = number
    }

    /// SLS was too late for it: from now on it has another time.
    mutating func rewrite(_ number: Int, _ now: WallTime) {
        byBytes[logs[number].bytes] = nil
        logs[number].rewrittenTo = now.seconds
    }

    func all(_ place: ModelLog.Place, of destination: String? = nil) -> [Int] {
        logs.filter {
            $0.place == place && (destination == nil || $0.stream.destination == destination)
        }.map(\.number)
    }

    /// Which logs these are; what nobody sent fails.
    mutating func numbers(_ blocks: [StoredBlock]) throws -> [Int] {
        var found: [Int] = []
        for block in blocks {
            let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
            try raw.withUnsafeBytes { bytes in
                var walk = LogEntries(bytes)
                while let range = try walk.next() { found.append(try number(Array(bytes[range]))) }
            }
        }
        return found
    }

    mutating func number(_ bytes: [UInt8]) throws -> Int {
        if let number = byBytes[bytes] { return number }
        let entry = try bytes.withUnsafeBytes { try LogEntry($0) }
        let text = entry.fields.first { $0.key == "number" }?.value
        guard let number = text.flatMap({ Int($0) }), logs.indices.contains(number) else {
            throw ModelFailure("a log came that nobody sent: \(entry)")
        }
        try check(logs[number].isRewritten(to: entry), "log \(number) changed to \(entry)")
        byBytes[bytes] = number
        logs[number].bytes = bytes
        logs[number].revision += 1
        logs[number].rewrittenTo = nil
        logs[number].stamp = Int64(entry.time.seconds)
        return number
    }
}

extension ModelLog.Place {
    fileprivate var account: WritableKeyPath<Ledger, Int64>? {
        switch self {
        case .unknown: nil
        case .queued: \.queued
        case .delivered: \.delivered
        case .dead: \.dead
        case .expired: \.expired
        case .discarded: \.discarded
        }
    }
}

/// A log as the model knows it: where it is, and nothing of how it came there.
struct ModelLog {
    enum Place: Equatable {
        case unknown
        case queued
        case delivered
        case dead
        case expired
        case discarded
    }

    let number: Int
    var stream: StreamKey
    var filling: Int
    /// The time that it says it is of.
    var stamp: Int64
    /// As it was sent, or as it must be after it was rewritten.
    var bytes: [UInt8]
    /// How often that was.
    var revision = 0
    var place = Place.unknown
    /// Logs of a stream leave in this order.
    var order = 0
    var received = WallTime(nanoseconds: 0)
    var died = WallTime(nanoseconds: 0)
    /// The packet that it is in, and the one it was in before.
    var packet: Int64?
    var parent: Int64?
    /// A rebuilt database may have put it into another packet, before or behind others.
    var isLoose = false
    /// Its row changed on the disk.
    var isDamaged = false
    /// It gets this time when it is next seen, and keeps its own as a field.
    var rewrittenTo: Int64?

    init(_ number: Int, _ stream: StreamKey, stamp: Int64, filling: Int) {
        self.number = number
        self.stream = stream
        self.stamp = stamp
        self.filling = filling
        bytes = Self.encoded(number, stamp, filling)
    }

    private static func encoded(_ number: Int, _ stamp: Int64, _ filling: Int) -> [UInt8] {
        var logs = EncodedLogs()
        logs.append(
            time: LogTime(seconds: UInt32(clamping: stamp)),
            fields: fields(number, filling)
        )
        return logs.bytes
    }

    /// The text does not compress well.
    static func fields(_ number: Int, _ filling: Int) -> [(key: String, value: String)] {
        var generator = SeededGenerator(seed: UInt64(number))
        var text: [UInt8] = []
        text.reserveCapacity(filling)
        while text.count < filling {
            let bits = generator.next()
            for shift in 0..<8 where text.count < filling {
                text.append(UInt8(33 + bits >> (shift * 8) & 63))
            }
        }
        return [("number", "\(number)"), ("text", String(decoding: text, as: UTF8.self))]
    }

    /// An operator edits it.
    mutating func edit(filling: Int) {
        self.filling = filling
        bytes = Self.encoded(number, stamp, filling)
        revision += 1
    }

    /// Whether these can be its bytes after it was rewritten.
    func isRewritten(to entry: LogEntry) -> Bool {
        var expected = Self.fields(number, filling)
        expected.append(("__original_time__", "\(stamp)"))
        return rewrittenTo == Int64(entry.time.seconds)
            && entry.fields.elementsEqual(expected) { $0.key == $1.key && $0.value == $1.value }
    }

    /// Whether SLS would refuse it for its time.
    func isLate(_ now: WallTime) -> Bool {
        let window = TimeWindow.sls
        return stamp < now.seconds - window.past.components.seconds
            || stamp > now.seconds + window.future.components.seconds
    }
}

/// What SLS may see of lanes: under one key and number nothing but one packet, ever, and numbers
/// without gaps.
struct LaneModel {
    /// The pack id that was given each number of each key.
    private var sent: [String: [Int64: String]] = [:]
    /// Keys whose last packet was acknowledged, and keys that must not be used again.
    private var acknowledged: Set<String> = []
    private var dead: Set<String> = []
    /// Of packets that are here, by their number.
    private var held: [Int64: Lane] = [:]

    mutating func note(_ packet: SealedPacket) throws(ModelFailure) {
        guard let lane = packet.lane else { return held[packet.number] = nil }
        let what = "the lane of packet \(packet.number)"
        try check(!dead.contains(lane.key), "\(what) must not be used again")
        let others = held.filter { $0.value.key == lane.key && $0.key != packet.number }
        try check(others.isEmpty, "\(what) is also that of \(others.keys.sorted())")
        held[packet.number] = lane
        if let before = sent[lane.key]?[lane.sequence] {
            try check(before == packet.packID, "\(what) has number \(lane.sequence) again")
            return try check(packet.isRecovered, "\(what) came before, and does not say so")
        }
        let last = sent[lane.key]?.keys.max() ?? 0
        try check(lane.sequence == last + 1, "\(what) jumps from \(last) to \(lane.sequence)")
        try check(
            last == 0 || acknowledged.contains(lane.key),
            "\(what) goes on before its last packet was acknowledged"
        )
        sent[lane.key, default: [:]][lane.sequence] = packet.packID
        acknowledged.remove(lane.key)
    }

    mutating func acknowledge(_ packet: Int64) {
        if let lane = held.removeValue(forKey: packet) { acknowledged.insert(lane.key) }
    }

    /// The packet left otherwise, or has another lane from now on: what was sent may still arrive.
    mutating func abandon(_ packet: Int64) {
        if let lane = held.removeValue(forKey: packet) { dead.insert(lane.key) }
    }

    /// Free lanes are forgotten: what begins now has new keys.
    mutating func restart() {
        dead = Set(sent.keys).subtracting(held.values.map(\.key))
    }
}
