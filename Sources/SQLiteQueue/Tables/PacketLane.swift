import Queue
import SQLite

/// A packet's lane as it is stored with the packet.
struct PacketLane: Hashable {
    static let firstSequence: Int64 = 1

    let key: LaneKey
    let sequence: Int64

    /// The lane for the next packet after this one is acknowledged.
    var next: PacketLane { PacketLane(key: key, sequence: sequence + 1) }

    /// A lane that was never used.
    static func new(_ key: LaneKey) -> PacketLane {
        PacketLane(key: key, sequence: firstSequence)
    }
}

extension PacketLane {
    /// Reads two columns, key and sequence. Nil if both are NULL.
    init?(_ row: Statement, _ column: CInt) throws(SQLiteError) {
        if row.isNull(column), row.isNull(column + 1) { return nil }
        guard let key = LaneKey(bytes: row.bytes(column)) else {
            throw .damage("column \(column) cannot be a lane's key in: \(row.sql)")
        }
        self.key = key
        sequence = try row.integer(column + 1, in: Plausible.ids)
    }
}

extension Lane {
    init(_ lane: PacketLane) {
        self.init(key: lane.key.text, sequence: lane.sequence)
    }
}

extension PacketLane {
    /// A lane for a packet whose own lane is lost.
    static func anywhere() -> PacketLane {
        .new(LaneKey(value: .random(in: .min ... .max)))
    }
}

/// A point of SLS's hash range. It belongs to one shard, and logs sent under one key stay in order.
///
/// The range has as many equal parts as an outlet has keys, each with one key at a random place. So
/// the outlet's shards share the load, and no two outlets or processes use the same point.
struct LaneKey: Hashable {
    let value: UInt128

    init(value: UInt128) {
        self.value = value
    }

    /// A new key, in part `part` of `parts`.
    init(inPart part: Int, of parts: Int, using generator: inout some RandomNumberGenerator) {
        let width = UInt128.max / UInt128(parts)
        let start = width * UInt128(part)
        value = UInt128.random(in: start..<start + width, using: &generator)
    }

    /// The index of the part that it lies in.
    func part(of parts: Int) -> Int {
        min(parts - 1, Int(value / (UInt128.max / UInt128(parts))))
    }
}

extension LaneKey {
    static let byteCount = 16

    /// The stored form.
    var bytes: [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    /// Nil if the length is wrong.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        value = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// The form for SLS: 32 lower hexadecimal digits.
    var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 2 * Self.byteCount - digits.utf8.count) + digits
    }
}
