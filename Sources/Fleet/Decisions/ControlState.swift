import CommitLog
import Queue
import System

/// What the control log says: the settings that operators decided, and who decided what.
struct ControlState {
    /// Entries of the audit log that are kept. The log itself keeps twice as many.
    static let auditMax = 10_000
    private static let looksMax = 2_000
    /// What the log keeps at most. An engine has room for twice as much.
    static let bytesMax = 128 << 20

    private var values: [String: (value: [UInt8], entry: UInt64)] = [:]
    /// Oldest first.
    private(set) var audit: [AuditRecord] = []
    /// The last entry, and the first one that the log has.
    private(set) var end: UInt64 = 0
    private var first: UInt64 = 0
    /// The bytes of each entry from the first one on.
    private var sizes: [UInt32] = []
    private var bytes = 0

    var settings: [String: [UInt8]] { values.mapValues(\.value) }

    /// Returns the entries that are missing before this one.
    mutating func take(
        _ entry: ControlEntry,
        _ number: UInt64,
        bytes: Int
    ) -> Range<UInt64> {
        let missing = end == 0 ? number..<number : end + 1..<number
        note(number, bytes)
        for name in entry.resets { values[name] = nil }
        for (name, value) in entry.settings { values[name] = (value, number) }
        guard let audited = entry.audit else { return missing }
        audit.append(
            AuditRecord(id: Int64(number), time: entry.time, entry: audited, node: entry.node)
        )
        // Many at a time: each removal moves the rest.
        if audit.count >= Self.auditMax + 1000 {
            // Those who only looked push no change out.
            let looks = audit.count { $0.entry.isLook }
            var spare = max(0, looks - Self.looksMax)
            audit.removeAll { record in
                defer { if record.entry.isLook { spare -= 1 } }
                return record.entry.isLook && spare > 0
            }
            audit.removeFirst(max(0, audit.count - Self.auditMax))
        }
        return missing
    }

    /// An entry that cannot be read counts as read.
    mutating func skip(_ number: UInt64, bytes: Int) { note(number, bytes) }

    private mutating func note(_ number: UInt64, _ bytes: Int) {
        if end == 0 { first = number }
        end = number
        let missing = Int(number - first) - sizes.count
        if missing > 0 { sizes += Array(repeating: 0, count: missing) }
        sizes.append(UInt32(clamping: bytes))
        self.bytes += bytes
    }

    /// True if the number of settings stays within its bound.
    func hasRoom(for decision: Decision) -> Bool {
        var names = Set(values.keys).subtracting(decision.resets)
        let before = values.count
        names.formUnion(decision.settings.keys)
        return names.count <= max(before, Decision.settingsMax)
    }

    func entries(before id: Int64?, limit: Int) -> [AuditRecord] {
        let older = audit.prefix { $0.id < id ?? .max }
        return older.suffix(max(1, min(limit, 1000))).reversed()
    }

    // MARK: - Trimming

    /// The log can be cut before this entry, when the settings of `old` were repeated.
    var cut: UInt64? {
        if end - first >= UInt64(2 * Self.auditMax) { return end - UInt64(Self.auditMax) }
        guard bytes > Self.bytesMax else { return nil }
        var left = bytes
        var index = 0
        while left > Self.bytesMax / 2 {
            left -= Int(sizes[index])
            index += 1
        }
        return first + UInt64(index)
    }

    /// Settings that only entries before this one have.
    func old(before cut: UInt64) -> [(name: String, value: [UInt8])] {
        values.filter { $0.value.entry < cut }.map { ($0.key, $0.value.value) }
    }

    mutating func trimmed(before cut: UInt64) {
        guard cut > first else { return }
        let gone = min(Int(cut - first), sizes.count)
        bytes -= sizes[..<gone].reduce(0) { $0 + Int($1) }
        sizes.removeFirst(gone)
        first = cut
    }
}
