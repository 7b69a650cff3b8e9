/// Why JSON is no web tracking body.
enum TrackingMistake: FormatMistake {
    case objectExpected
    case logsMissing, logsNotArray, logsRepeated
    case topicTooLong(Int), sourceTooLong(Int)
    case tagsNotObject, tagsRepeated

    var sentence: String {
        switch self {
        case .objectExpected: "the body must be one object with __logs__"
        case .logsMissing: "the object has no __logs__"
        case .logsNotArray: "__logs__ must be an array of objects"
        case .logsRepeated: "__logs__ may occur only once"
        case .topicTooLong(let limit): "__topic__ must not exceed \(limit) bytes"
        case .sourceTooLong(let limit): "__source__ must not exceed \(limit) bytes"
        case .tagsNotObject: "__tags__ must be an object"
        case .tagsRepeated: "__tags__ may occur only once"
        }
    }
}

/// Reads the body of SLS web tracking: one object, its members in any order, unknown ones ignored.
struct TrackingReader {
    private var tracked = TrackedLogs()
    private var hasLogs = false
    private var hasTags = false

    mutating func body(_ json: inout JSONLogReader) throws(JSONFault) -> TrackedLogs {
        guard json.cursor.hasToken(), json.cursor.byte == UInt8(ascii: "{") else {
            throw TrackingMistake.objectExpected.at(json.cursor.position)
        }
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "__logs__": try logs(&json)
            case "__topic__":
                let limit = json.limits.topicBytes
                tracked.topic = try text(&json, upTo: limit, else: .topicTooLong(limit))
            case "__source__":
                let limit = json.limits.sourceBytes
                tracked.source = try text(&json, upTo: limit, else: .sourceTooLong(limit))
            case "__tags__": try tags(&json)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard hasLogs else { throw TrackingMistake.logsMissing.at(0) }
        try json.cursor.expectEnd()
        tracked.logs = json.writer.logs
        return tracked
    }

    private mutating func logs(_ json: inout JSONLogReader) throws(JSONFault) {
        let position = json.cursor.position
        guard !hasLogs else { throw TrackingMistake.logsRepeated.at(position) }
        guard json.cursor.byte == UInt8(ascii: "[") else {
            throw TrackingMistake.logsNotArray.at(position)
        }
        hasLogs = true
        try json.logArray(depth: 2)
    }

    /// The next value as text; nil for null.
    private func text(
        _ json: inout JSONLogReader,
        upTo limit: Int,
        else mistake: TrackingMistake
    ) throws(JSONFault) -> String? {
        let position = json.cursor.position
        let (text, kind) = try json.value(depth: 1)
        guard kind != .null else { return nil }
        guard text.count <= limit else { throw mistake.at(position) }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func tags(_ json: inout JSONLogReader) throws(JSONFault) {
        guard !hasTags else { throw TrackingMistake.tagsRepeated.at(json.cursor.position) }
        hasTags = true
        if try json.cursor.takeNull() { return }
        guard json.cursor.byte == UInt8(ascii: "{") else {
            throw TrackingMistake.tagsNotObject.at(json.cursor.position)
        }
        var tags = GatheredTags()
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            let tag = try json.member(depth: 2)
            tags.add(tag.name, tag.value, json.limits)
            hasMember = try json.cursor.nextMember()
        }
        tracked.tags = tags.tags
    }
}
