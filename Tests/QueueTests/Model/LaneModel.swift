import Queue

@testable import SQLiteQueue

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
