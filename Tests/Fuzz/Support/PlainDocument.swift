import JSON

@testable import Sandbox

/// Logs as a JSON tree has them; nil when a tree does not tell enough.
struct PlainDocument {
    struct Member {
        let name: [UInt8]
        let value: JSONValue

        /// Text is stored as it is, anything else as JSON.
        func `is`(_ field: SandboxReading.Field) -> Bool {
            guard field.name == name else { return false }
            switch value {
            case .null: return field.value.isEmpty
            case .string(let text): return field.value == Array(text.utf8)
            default: return SandboxReading.json(field.value) == value
            }
        }
    }

    private static let depthMax = 60

    let logs: [[Member]]

    init?(_ document: JSONValue) {
        var objects = [document]
        if case .array(let elements) = document { objects = elements }
        var logs: [[Member]] = []
        for object in objects {
            guard let log = Self.members(object) else { return nil }
            logs.append(log)
        }
        self.logs = logs
    }

    /// Of members of one name the last one counts.
    private static func members(_ object: JSONValue) -> [Member]? {
        guard case .object(let given) = object else { return nil }
        var members: [Member] = []
        for member in given {
            let name = Array(member.name.utf8)
            // Others are stored under another name, or are times.
            guard 1...128 ~= name.count, !name.starts(with: "_".utf8),
                isShallow(member.value, depthMax)
            else { return nil }
            members.removeAll { $0.name == name }
            members.append(Member(name: name, value: member.value))
        }
        return members
    }

    private static func isShallow(_ value: JSONValue, _ levels: Int) -> Bool {
        guard levels > 0 else { return false }
        return switch value {
        case .array(let values): values.allSatisfy { isShallow($0, levels - 1) }
        case .object(let members): members.allSatisfy { isShallow($0.value, levels - 1) }
        default: true
        }
    }
}
