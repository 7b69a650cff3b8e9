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
