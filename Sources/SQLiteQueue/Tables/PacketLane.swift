import Queue
import SQLite

/// The lane that a packet has, as it is stored with it.
struct PacketLane: Hashable {
    static let firstSequence: Int64 = 1

    let key: LaneKey
    let sequence: Int64

    /// For the next packet, once this one is acknowledged.
    var next: PacketLane { PacketLane(key: key, sequence: sequence + 1) }

    /// One that was never used.
    static func new(_ key: LaneKey) -> PacketLane {
        PacketLane(key: key, sequence: firstSequence)
    }
}

extension PacketLane {
    /// Takes two columns, key and sequence; nil when both are NULL.
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
    /// For a packet whose own cannot be known any more.
    static func anywhere() -> PacketLane {
        .new(LaneKey(value: .random(in: .min ... .max)))
    }
}

/// A point of SLS's hash range, which belongs to one shard: what is sent under one key stays in order.
///
/// The keys of an outlet lie one in each equal part of the range, anywhere in it, so that its shards share the
/// load however many there are, and no two outlets or lives meet in one point.
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

    /// In which of so many parts it lies.
    func part(of parts: Int) -> Int {
        min(parts - 1, Int(value / (UInt128.max / UInt128(parts))))
    }
}

extension LaneKey {
    static let byteCount = 16

    /// As it is stored.
    var bytes: [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    /// Nil when it has another length.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        value = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// As it is sent: 32 lower hexadecimal digits.
    var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 2 * Self.byteCount - digits.utf8.count) + digits
    }
}
