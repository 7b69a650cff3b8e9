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
