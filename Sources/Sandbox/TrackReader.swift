import JSON
import System

/// Reads the JSON of an unsigned write (web tracking).
struct TrackReader {
    let rules: LogChecks
    private var logs = ReceivedLogs()

    static func read(
        _ bytes: UnsafeRawBufferPointer,
        rules: LogChecks
    ) throws(SLSRefusal) -> ReceivedLogs {
        var reader = TrackReader(rules: rules)
        reader.logs.rawBytes = bytes.count
        let value: JSONValue
        do {
            value = try JSONValue(parsing: Array(bytes))
        } catch {
            throw .badBody("The body is not JSON: \(error.reason) (byte \(error.position)).")
        }
        guard case .object(let members) = value else {
            throw .badBody("The body is \(value.kind), an object is expected.")
        }
        try reader.read(members)
        return reader.logs
    }

    private mutating func read(_ members: [JSONValue.Member]) throws(SLSRefusal) {
        var hasLogs = false
        for member in members {
            switch member.name {
            case "__topic__":
                logs.topic = try text(member)
                try rules.checkTopic(byteCount: logs.topic.utf8.count)
            case "__source__":
                logs.source = try text(member)
                try rules.checkSource(byteCount: logs.source.utf8.count)
            case "__tags__": try readTags(member.value)
            case "__logs__":
                hasLogs = true
                guard case .array(let values) = member.value else {
                    throw .badBody("__logs__ is \(member.value.kind), an array is expected.")
                }
                try rules.checkCount(values.count)
                for value in values { try readLog(value) }
            default: break
            }
        }
        guard hasLogs else { throw .badBody("__logs__ is missing.") }
    }

    private mutating func readTags(_ value: JSONValue) throws(SLSRefusal) {
        guard case .object(let members) = value else {
            throw .badBody("__tags__ is \(value.kind), an object is expected.")
        }
        for member in members {
            logs.appendTag(member.name, try text(member))
        }
    }

    private mutating func readLog(_ value: JSONValue) throws(SLSRefusal) {
        guard case .object(let members) = value else {
            throw .badBody("A log is \(value.kind), an object is expected.")
        }
        var fields: [(name: String, value: String)] = []
        // Web tracking uses the arrival time and ignores the log's own.
        for member in members where member.name != "__time__" {
            let value = try text(member)
            try Array(member.name.utf8).withUnsafeBufferPointer { key throws(SLSRefusal) in
                try rules.checkKey(UnsafeRawBufferPointer(key))
            }
            try rules.checkValue(byteCount: value.utf8.count)
            fields.append((member.name, value))
        }
        logs.append(time: UInt32(clamping: rules.now.seconds), nanoseconds: nil) { json in
            for (name, value) in fields { json.member(name, value) }
        }
    }

    private func text(_ member: JSONValue.Member) throws(SLSRefusal) -> String {
        guard case .string(let text) = member.value else {
            throw .badBody("\(member.name) is \(member.value.kind), a string is expected.")
        }
        return text
    }
}
