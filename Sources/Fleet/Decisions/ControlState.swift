import CommitLog
import Crypto
import JSON
import Queue
import System

/// What the control log says: the settings that operators decided, and who decided what.
struct ControlState {
    /// Entries of the audit log that are kept. The log itself keeps twice as many.
    static let auditMax = 10_000
    static let looksMax = 2_000
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
            // The oldest looks go first, so that they push no change out.
            let spare = audit.filter(\.entry.isLook).dropLast(Self.looksMax).last?.id ?? 0
            audit.removeAll { $0.entry.isLook && $0.id <= spare }
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

/// One decision of an operator, as the cluster's control log has it.
struct ControlEntry: Equatable {
    /// Larger decisions are refused: one has to fit into one entry of the log.
    static let bytesMax = 800 << 10

    var settings: [String: [UInt8]] = [:]
    var resets: Set<String> = []
    /// nil: the entry repeats settings whose own entries are about to be removed.
    var audit: AuditEntry?
    var time: WallTime
    /// The gateway that took the decision.
    var node: String

    init(_ decision: Decision, time: WallTime, node: String) {
        settings = decision.settings
        resets = decision.resets
        audit = decision.entry
        // As exact as it is written.
        self.time = WallTime(nanoseconds: time.milliseconds * 1_000_000)
        self.node = node
    }

    /// Repeats a setting.
    init(keeping name: String, _ value: [UInt8], time: WallTime, node: String) {
        settings = [name: value]
        self.time = time
        self.node = node
    }

    var body: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("node", node)
            json.member("time_ms", time.milliseconds)
            json.object("settings") { json in
                for (name, value) in settings.sorted(by: { $0.key < $1.key }) {
                    json.member(name, Digest.base64(value))
                }
            }
            json.array("resets") { json in resets.sorted().forEach { json.element($0) } }
            if let audit {
                json.object("audit") { json in
                    json.member("actor", audit.actor)
                    json.member("address", audit.address)
                    json.member("action", audit.action)
                    json.member("subject", audit.subject)
                    json.member("before", audit.before)
                    json.member("after", audit.after)
                }
            }
        }
        return json.bytes
    }

    init(body: [UInt8]) throws(CommitLogError) {
        guard let json = try? JSONValue(parsing: body, depthMax: 4),
            let node = json["node"]?.text, let time = json["time_ms"]?.wholeNumber,
            case .object(let settings)? = json["settings"], let resets = json["resets"]?.elements
        else { throw .damaged("a decision in the control log cannot be read") }
        self.node = node
        self.time = WallTime(nanoseconds: Int64(time) &* 1_000_000)
        for setting in settings {
            guard let text = setting.value.text,
                let value = base64Decoded(Array(text.utf8)[...], .standard)
            else { throw .damaged("the setting \(setting.name) cannot be read") }
            self.settings[setting.name] = value
        }
        self.resets = Set(resets.compactMap(\.text))
        guard let audit = json["audit"] else { return }
        func text(_ name: String) -> String { audit[name]?.text ?? "" }
        self.audit = AuditEntry(
            actor: text("actor"),
            address: text("address"),
            action: text("action"),
            subject: text("subject"),
            before: text("before"),
            after: text("after")
        )
    }
}
