import CommitLog
import Crypto
import JSON
import Queue
import System

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
        else { throw CommitLogError(.damaged, "a decision in the control log cannot be read") }
        self.node = node
        self.time = WallTime(nanoseconds: Int64(time) &* 1_000_000)
        for setting in settings {
            guard let text = setting.value.text,
                let value = base64Decoded(Array(text.utf8)[...], .standard)
            else { throw CommitLogError(.damaged, "the setting \(setting.name) cannot be read") }
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
