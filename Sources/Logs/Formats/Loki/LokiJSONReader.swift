extension JSONLogDecoder {
    /// Reads a push of Loki as JSON:
    /// `{"streams":[{"stream":{…labels},"values":[["ns","line",{…}]]}]}`. The result is that of
    /// `LokiDecoder`, which says more about it.
    package func decodeLoki(_ body: LogBody) throws(LogDecodingError) -> [TrackedLogs] {
        try decode(body.with(JSONLogOptions(takesTimes: false))) { json throws(JSONFault) in
            var reader = LokiJSONReader()
            return try reader.push(&json)
        }
    }
}

/// Reads the body of a push as JSON. Members come in any order, and unknown ones are ignored, as
/// Loki does. A stream's logs do not repeat its labels, so either of the two may come first.
struct LokiJSONReader {
    private var streams = LokiStreams()
    /// The labels of the stream that is being read.
    private var labels = GatheredTags()
    /// The same as they stand in the body.
    private var written = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    mutating func push(_ json: inout JSONLogReader) throws(JSONFault) -> [TrackedLogs] {
        var hasStreams = false
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "streams":
                guard !hasStreams else { throw json.cursor.fault(.memberRepeated) }
                hasStreams = true
                var hasElement = try json.cursor.enterArray()
                while hasElement {
                    try stream(&json)
                    hasElement = try json.cursor.nextElement()
                }
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        try json.cursor.expectEnd()
        guard hasStreams else { throw LokiMistake.streamsMissing.at(0) }
        return streams.groups
    }

    private mutating func stream(_ json: inout JSONLogReader) throws(JSONFault) {
        let start = json.cursor.position
        written = UnsafeBufferPointer(start: nil, count: 0)
        labels.removeAll()
        json.writer.startPart()
        var (hasLabels, hasValues) = (false, false)
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            let member = json.cursor.position
            switch try json.memberName() {
            case "stream":
                guard !hasLabels else { throw json.cursor.fault(.memberRepeated) }
                hasLabels = true
                try readLabels(&json)
            case "values":
                guard !hasValues else { throw json.cursor.fault(.memberRepeated) }
                hasValues = true
                var hasElement = try json.cursor.enterArray()
                while hasElement {
                    try entry(&json)
                    hasElement = try json.cursor.nextElement()
                }
            // Ignoring them would lose their logs silently.
            case "labels", "entries": throw LokiMistake.formerName.at(member)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard hasValues else { throw LokiMistake.valuesMissing.at(start) }
        try finishStream(json.writer.logs, json.limits, at: start)
    }

    private mutating func finishStream(
        _ logs: DecodedLogs,
        _ limits: LogLimits,
        at start: Int
    ) throws(JSONFault) {
        guard logs.count > 0 else { return }
        if let known = streams.index(of: written) { return streams.append(logs, at: known) }
        do throws(LokiMistake) {
            let index = try streams.index(of: &labels, writtenAs: written, limits)
            streams.append(logs, at: index)
        } catch {
            throw error.at(start)
        }
    }

    /// Gathers labels, unless the same were written before. Loki takes no label without a value.
    private mutating func readLabels(_ json: inout JSONLogReader) throws(JSONFault) {
        let token = try json.cursor.pass()
        let (first, last) = (json.cursor.position(of: token), json.cursor.position(ahead: -1))
        written = UnsafeBufferPointer(start: json.cursor.text + first, count: last + 1 - first)
        guard streams.index(of: written) == nil else { return }
        json.cursor.move(to: token)
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            let label = try json.member(depth: 4)
            guard label.kind != .nested else { throw LokiMistake.labelExpected.at(label.position) }
            if !label.value.isEmpty { labels.add(label.name, label.value, json.limits) }
            hasMember = try json.cursor.nextMember()
        }
    }

    /// Reads `["ns","line"]` or `["ns","line",{…}]`.
    private func entry(_ json: inout JSONLogReader) throws(JSONFault) {
        if try json.cursor.takeNull() { return }
        try json.expectRoomForLog()
        let first = json.cursor.next
        let start = json.cursor.position
        guard json.cursor.byte == UInt8(ascii: "["), try json.cursor.enterArray() else {
            throw LokiMistake.entryExpected.at(start)
        }
        json.writer.startLog()
        try time(&json)
        guard try json.cursor.nextElement() else { throw LokiMistake.entryExpected.at(start) }
        try json.cursor.expectToken()
        guard json.cursor.byte == UInt8(ascii: "\"") else {
            throw json.cursor.fault(.stringExpected)
        }
        try json.field(LokiField.line, depth: 6)
        if try json.cursor.nextElement() {
            try metadata(&json)
            while try json.cursor.nextElement() { try json.skipValue() }
        }
        try json.endLog(of: first)
    }

    /// Times are signed.
    private func time(_ json: inout JSONLogReader) throws(JSONFault) {
        try json.cursor.expectToken()
        let position = json.cursor.position
        guard json.cursor.byte == UInt8(ascii: "\""),
            let time = Int64(String(decoding: try json.string(), as: UTF8.self))
        else { throw LokiMistake.timeExpected.at(position) }
        if time < 0 {
            json.writer.impossibleTime(written: "\(time)")
        } else {
            json.writer.time(nanosecondsSince1970: UInt64(time))
        }
    }

    /// Its members are fields like those of any log.
    private func metadata(_ json: inout JSONLogReader) throws(JSONFault) {
        if try json.cursor.takeNull() { return }
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            let member = json.cursor.next
            if LokiField.line ~= (try json.memberName()) {
                try json.field(LokiField.taken, depth: 6)
            } else {
                json.cursor.move(to: member)
                try json.field(depth: 6)
            }
            hasMember = try json.cursor.nextMember()
        }
    }
}
