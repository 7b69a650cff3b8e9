import JSON
import System

@testable import Sandbox

/// A LogGroup as the sandbox reads it, which has its own readers of protobuf and JSON.
struct SandboxReading: Equatable {
    struct Log: Equatable {
        let seconds: UInt32
        let nanoseconds: UInt32
        let fields: [Field]
    }

    /// Compared by their bytes: Swift takes different texts for the same.
    struct Field: Equatable {
        let name: [UInt8]
        let value: [UInt8]
    }

    let topic: String
    let source: String
    let logs: [Log]

    private static let rules = LogChecks(limits: .init(), now: Fixed.arrival)

    /// Why SLS would refuse the group, as far as the sandbox knows.
    static func refusal(of group: [UInt8]) -> String? {
        do throws(SLSRefusal) {
            _ = try read(group)
            return nil
        } catch {
            return error.message
        }
    }

    /// How many logs a web tracking body has; nil when it is refused.
    static func trackedCount(_ body: [UInt8]) -> Int? {
        exactly(body) { body in try? TrackReader.read(body, rules: rules).entries.count }
    }

    /// Nil when it is no JSON.
    static func json(_ text: some Collection<UInt8>) -> JSONValue? {
        exactly(text) { text in try? JSONValue(parsing: Array(text)) }
    }

    fileprivate static func read(_ group: [UInt8]) throws(SLSRefusal) -> ReceivedLogs {
        try exactly(group) { group throws(SLSRefusal) in
            try LogGroupReader.read(group, rules: rules)
        }
    }

    fileprivate static func fields(_ object: [UInt8]) -> [Field] {
        guard case .object(let members) = json(object) else { return [] }
        return members.compactMap { member in
            guard case .string(let value) = member.value else { return nil }
            return Field(name: Array(member.name.utf8), value: Array(value.utf8))
        }
    }
}

extension SandboxReading {
    /// Nil when it is refused.
    init?(_ group: [UInt8]) {
        guard let received = try? Self.read(group) else { return nil }
        topic = received.topic
        source = received.source
        logs = received.entries.map { entry in
            Log(
                seconds: entry.time,
                nanoseconds: entry.nanoseconds ?? 0,
                fields: Self.fields(Array(received.json.bytes[entry.fields]))
            )
        }
    }
}

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
