extension JSONLogDecoder {
    /// Reads events of Splunk's HTTP Event Collector, one after the other or in arrays, as logs.
    package func decodeSplunk(_ body: LogBody) throws(SplunkFault) -> [SplunkEvents] {
        var reader: SplunkReader?
        var reason: JSONFault.Reason?
        do throws(LogDecodingError) {
            try decode(body) { json throws(JSONFault) in
                // A body is read from its beginning once more after a repair.
                var attempt = SplunkReader(json.limits)
                defer { reader = attempt }
                do throws(JSONFault) {
                    try attempt.events(&json)
                } catch {
                    reason = error.reason
                    throw error
                }
            }
        } catch {
            let isEmpty = body.bytes.allSatisfy {
                $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09
            }
            throw SplunkFault(
                kind: isEmpty ? .noData : .init(reason),
                event: reader?.gathering.count,
                cause: error
            )
        }
        let events = reader?.gathering.events ?? []
        guard !events.isEmpty else {
            let cause = LogDecodingError(position: 0, reason: "the body has no event")
            throw SplunkFault(kind: .noData, event: nil, cause: cause)
        }
        return events
    }
}

/// Reads events: objects with `event`, what happened, and beside it `time`, `fields` and where it
/// comes from. Unknown members are ignored, as Splunk does.
struct SplunkReader {
    private(set) var gathering: SplunkGathering

    init(_ limits: LogLimits) {
        gathering = SplunkGathering(limits)
    }

    /// Events and arrays of events until the end, one after the other.
    mutating func events(_ json: inout JSONLogReader) throws(JSONFault) {
        while json.cursor.hasToken() {
            guard json.cursor.byte == UInt8(ascii: "[") else {
                try event(&json, depth: 1)
                continue
            }
            var hasElement = try json.cursor.enterArray()
            while hasElement {
                try event(&json, depth: 2)
                hasElement = try json.cursor.nextElement()
            }
        }
    }

    private mutating func event(_ json: inout JSONLogReader, depth: Int) throws(JSONFault) {
        try json.cursor.expectToken()
        let first = json.cursor.next
        let start = json.cursor.position
        guard json.cursor.byte == UInt8(ascii: "{") else {
            throw SplunkMistake.objectExpected.at(start)
        }
        try json.expectRoomForLog()
        gathering.origin.clear()
        json.writer.startLog()
        var seen = SplunkMembers()
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            let position = json.cursor.position
            let member = SplunkMembers(try json.memberName())
            guard seen.isDisjoint(with: member) else {
                throw JSONFault(.memberRepeated, at: position)
            }
            seen.formUnion(member)
            let room = json.limits.tagsBytes - gathering.origin.bytes
            switch member {
            case .event: try content(&json, depth: depth + 1)
            case .time: try time(&json)
            case .fields: try fields(&json, depth: depth + 1)
            case .host: try Self.origin(&json, to: &gathering.origin.host, room)
            case .source: try Self.origin(&json, to: &gathering.origin.source, room)
            case .sourcetype: try Self.origin(&json, to: &gathering.origin.sourcetype, room)
            case .index: try Self.origin(&json, to: &gathering.origin.index, room)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard seen.contains(.event) else { throw SplunkMistake.eventMissing.at(start) }
        try json.endLog(of: first)
        guard gathering.take(from: &json.writer) else {
            throw SplunkMistake.tooManyOrigins(json.limits.streams).at(start)
        }
    }

    /// The members of an object are fields; any other value is the field `message`.
    private func content(_ json: inout JSONLogReader, depth: Int) throws(JSONFault) {
        let start = json.cursor.position
        switch json.cursor.byte {
        case UInt8(ascii: "{"):
            guard try json.cursor.enterObject() else { throw SplunkMistake.eventBlank.at(start) }
            try json.fields(depth: depth)
        case UInt8(ascii: "n"):
            _ = try json.cursor.takeNull()
            throw SplunkMistake.eventMissing.at(start)
        default:
            let count = try json.field("message", depth: depth)
            guard count > 0 else { throw SplunkMistake.eventBlank.at(start) }
        }
    }

    private func fields(_ json: inout JSONLogReader, depth: Int) throws(JSONFault) {
        if try json.cursor.takeNull() { return }
        guard json.cursor.byte == UInt8(ascii: "{") else {
            throw SplunkMistake.fieldsExpected.at(json.cursor.position)
        }
        if try json.cursor.enterObject() { try json.fields(depth: depth) }
    }

    /// An unreadable time stays as a field: its sender was never told of a mistake.
    private func time(_ json: inout JSONLogReader) throws(JSONFault) {
        let start = json.cursor.position
        let (text, kind) = try json.value(depth: 1)
        switch kind {
        case .boolean, .nested: throw SplunkMistake.timeExpected.at(start)
        case .null: return
        case .number, .string:
            guard !text.isEmpty, try !json.takeTime(text, kind, at: start) else { return }
            // A copy, since the text stands where the field will.
            json.writer.field(name: ReservedKey.originalTimeField, value: Array(text))
        }
    }

    private static func origin(
        _ json: inout JSONLogReader,
        to part: inout ByteKey,
        _ room: Int
    ) throws(JSONFault) {
        let start = json.cursor.position
        let (text, kind) = try json.value(depth: 1)
        guard kind == .string || kind == .number || kind == .null else {
            throw SplunkMistake.originExpected.at(start)
        }
        guard text.count <= room else {
            throw SplunkMistake.originTooLong(json.limits.tagsBytes).at(start)
        }
        part.bytes.append(contentsOf: text)
    }
}

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

    /// The member of this name; none for any other name.
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

extension JSONLogDecoder {
    /// Reads `{"acks":[7,8]}`, as a Splunk client asks. Ids beyond `most` are checked and left out.
    /// A damaged body is refused: it is a question, and holds no logs that a repair would save.
    package func decodeAcknowledgements(
        _ body: LogBody,
        atMost most: Int
    ) throws(LogDecodingError) -> [UInt64] {
        let question = LogBody(body.bytes, body.timing, LogRules())
        return try decode(question) { json throws(JSONFault) in
            try acknowledgements(&json, atMost: most)
        }
    }

    private func acknowledgements(
        _ json: inout JSONLogReader,
        atMost most: Int
    ) throws(JSONFault) -> [UInt64] {
        let start = json.cursor.position
        guard json.cursor.byte == UInt8(ascii: "{") else {
            throw SplunkMistake.acksExpected.at(start)
        }
        var ids: [UInt64]?
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "acks": ids = try list(&json, atMost: most)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        try json.cursor.expectEnd()
        guard let ids else { throw SplunkMistake.acksExpected.at(start) }
        return ids
    }

    private func list(
        _ json: inout JSONLogReader,
        atMost most: Int
    ) throws(JSONFault) -> [UInt64] {
        guard json.cursor.byte == UInt8(ascii: "[") else {
            throw SplunkMistake.acksExpected.at(json.cursor.position)
        }
        var ids: [UInt64] = []
        var hasElement = try json.cursor.enterArray()
        while hasElement {
            try json.cursor.expectToken()
            let position = json.cursor.position
            let (digits, kind) = try json.value(depth: 1)
            guard kind == .number, let id = Decimal(digits)?.wholeNumber,
                let id = UInt64(exactly: id)
            else {
                throw SplunkMistake.acksExpected.at(position)
            }
            if ids.count < most { ids.append(id) }
            hasElement = try json.cursor.nextElement()
        }
        return ids
    }
}
