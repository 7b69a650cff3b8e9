// Events of Splunk's HTTP Event Collector: objects with `event`, what happened, and beside it `time`, `fields` and
// where it comes from. Unknown members are ignored, as Splunk does.
extension JSONLogWalk {
    /// Events and arrays of events until the end, one after the other.
    mutating func splunkEvents(_ gathering: inout SplunkGathering) throws(JSONFault) {
        while next < tokenCount {
            guard byte == UInt8(ascii: "[") else {
                try splunkEvent(&gathering, depth: 1)
                continue
            }
            var hasElement = try enterArray()
            while hasElement {
                try splunkEvent(&gathering, depth: 2)
                hasElement = try nextElement()
            }
        }
    }

    private mutating func splunkEvent(
        _ gathering: inout SplunkGathering,
        depth: Int
    ) throws(JSONFault) {
        guard next < tokenCount else { throw unfinished }
        guard byte == UInt8(ascii: "{") else { throw fault(.splunk(.objectExpected)) }
        guard !writer.isFull else { throw fault(.tooManyLogs(limits.logs)) }
        let first = next
        let start = Int(tokens[first])
        gathering.origin.clear()
        writer.startLog()
        var seen = SplunkMembers()
        var hasMember = try enterObject()
        while hasMember {
            let token = Int(tokens[next])
            let member = SplunkMembers(try memberName())
            guard seen.isDisjoint(with: member) else {
                throw JSONFault(.splunk(.memberRepeated), at: token)
            }
            seen.formUnion(member)
            let room = limits.tagsBytes - gathering.origin.bytes
            switch member {
            case .event: try splunkContent(depth: depth + 1)
            case .time: try splunkTime()
            case .fields: try splunkFields(depth: depth + 1)
            case .host: try splunkOrigin(&gathering.origin.host, room)
            case .source: try splunkOrigin(&gathering.origin.source, room)
            case .sourcetype: try splunkOrigin(&gathering.origin.sourcetype, room)
            case .index: try splunkOrigin(&gathering.origin.index, room)
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard seen.contains(.event) else { throw JSONFault(.splunk(.eventMissing), at: start) }
        writer.endLog()
        try checkFields(of: first)
        guard gathering.take(from: &writer) else {
            throw JSONFault(.splunk(.tooManyOrigins(limits.streams)), at: start)
        }
    }

    /// The members of an object are fields; whatever else it is, is the field `message`.
    private mutating func splunkContent(depth: Int) throws(JSONFault) {
        let start = Int(tokens[next])
        switch byte {
        case UInt8(ascii: "{"):
            guard try enterObject() else { throw JSONFault(.splunk(.eventBlank), at: start) }
            try fields(depth: depth)
        case UInt8(ascii: "n"):
            _ = try takeNull()
            throw JSONFault(.splunk(.eventMissing), at: start)
        default:
            makeRoom(from: start)
            let name: StaticString = "message"
            (writer.memory.start + writer.nameOffset)
                .update(from: name.utf8Start, count: name.utf8CodeUnitCount)
            let field = writer.openField(nameBytes: name.utf8CodeUnitCount)
            let (count, _) = try value(to: field.value, depth: depth)
            guard count > 0 else { throw JSONFault(.splunk(.eventBlank), at: start) }
            writer.close(field, valueBytes: count)
        }
    }

    private mutating func splunkFields(depth: Int) throws(JSONFault) {
        if try takeNull() { return }
        guard byte == UInt8(ascii: "{") else { throw fault(.splunk(.fieldsExpected)) }
        if try enterObject() { try fields(depth: depth) }
    }

    /// One that cannot be read stays as a field: its sender was never told of a mistake.
    private mutating func splunkTime() throws(JSONFault) {
        let start = Int(tokens[next])
        makeRoom(from: start)
        let (count, kind) = try value(to: writer.length, depth: 1)
        switch kind {
        case .boolean, .nested: throw JSONFault(.splunk(.timeExpected), at: start)
        case .null: return
        case .number, .string:
            guard count > 0, try !takeTime(writer.length, count, kind, at: start) else { return }
            // A copy: it stands where the field will.
            let text = Array(copying: writer.memory.start + writer.length, count: count)
            writer.field(name: ReservedKey.originalTimeField, value: text)
        }
    }

    private mutating func splunkOrigin(
        _ text: inout [UInt8],
        _ room: Int
    ) throws(JSONFault) {
        let start = Int(tokens[next])
        makeRoom(from: start)
        let (count, kind) = try value(to: writer.length, depth: 1)
        guard kind == .string || kind == .number || kind == .null else {
            throw JSONFault(.splunk(.originExpected), at: start)
        }
        guard count <= room else {
            throw JSONFault(.splunk(.originTooLong(limits.tagsBytes)), at: start)
        }
        let written = UnsafePointer(writer.memory.start + writer.length)
        text.append(contentsOf: UnsafeBufferPointer(start: written, count: count))
    }
}

/// The members of an event that mean something.
private struct SplunkMembers: OptionSet {
    let rawValue: UInt8

    static let event = SplunkMembers(rawValue: 1)
    static let time = SplunkMembers(rawValue: 2)
    static let fields = SplunkMembers(rawValue: 4)
    static let host = SplunkMembers(rawValue: 8)
    static let source = SplunkMembers(rawValue: 16)
    static let sourcetype = SplunkMembers(rawValue: 32)
    static let index = SplunkMembers(rawValue: 64)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The one of this name; none when it is another.
    init(_ name: UnsafeBufferPointer<UInt8>) {
        switch name {
        case "event": self = .event
        case "time": self = .time
        case "fields": self = .fields
        case "host": self = .host
        case "source": self = .source
        case "sourcetype": self = .sourcetype
        case "index": self = .index
        default: self = []
        }
    }
}
