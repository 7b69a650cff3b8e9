import Queue
import System

/// Collects rows of a stream into one packet: as many rows as the limits allow, at least one.
struct PacketCut {
    let limits: PacketLimits
    private(set) var rows: [Int64] = []
    private(set) var logs = 0
    private(set) var raw = 0
    private(set) var size = 0
    private(set) var oldest = WallTime(nanoseconds: .max)

    init(_ limits: PacketLimits) {
        self.limits = limits
    }

    /// Returns false if the row belongs to the next packet.
    mutating func take(_ row: RowRecord) -> Bool {
        let fits = raw + row.raw <= limits.rawBytes && logs + row.logs <= limits.logs
        guard fits || rows.isEmpty else { return false }
        rows.append(row.id)
        logs += row.logs
        raw += row.raw
        size += row.size
        oldest = min(oldest, row.received)
        return true
    }

    /// The packet. Nil without rows, or if damage shows them out of order.
    func record(number: Int64, stream: Int64, pack: Int64) -> PacketRecord? {
        guard let first = rows.first, let last = rows.last, first <= last else { return nil }
        return PacketRecord(
            number: number,
            stream: stream,
            rows: first...last,
            logs: logs,
            raw: raw,
            oldest: oldest,
            pack: pack
        )
    }
}

extension PacketLimits {
    /// For rows that already are a packet.
    static let unlimited = PacketLimits(rawBytes: .max, logs: .max)
}
