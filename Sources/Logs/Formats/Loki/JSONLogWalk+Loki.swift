// The body of a push as JSON. Members come in any order, and unknown ones are ignored as Loki does. A stream's logs
// do not repeat its labels, so it does not matter which of the two comes first.
extension JSONLogWalk {
    mutating func lokiPush() throws(JSONFault) -> [TrackedLogs] {
        var streams = LokiStreams()
        var hasStreams = false
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "streams":
                guard !hasStreams else { throw fault(.otlp(.memberRepeated)) }
                hasStreams = true
                var hasElement = try enterArray()
                while hasElement {
                    try lokiStream(&streams)
                    hasElement = try nextElement()
                }
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard next == tokenCount else { throw fault(.textFollows) }
        guard hasStreams else { throw JSONFault(.loki(.streamsMissing), at: 0) }
        return streams.groups
    }

    private mutating func lokiStream(_ streams: inout LokiStreams) throws(JSONFault) {
        let start = next
        var written = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        var (hasLabels, hasValues) = (false, false)
        tags.removeAll()
        writer.startPart()
        var hasMember = try enterObject()
        while hasMember {
            let member = next
            switch try memberName() {
            case "stream":
                guard !hasLabels else { throw fault(.otlp(.memberRepeated)) }
                hasLabels = true
                written = try lokiLabels(unlessKnownTo: streams)
            case "values":
                guard !hasValues else { throw fault(.otlp(.memberRepeated)) }
                hasValues = true
                var hasElement = try enterArray()
                while hasElement {
                    try lokiEntry()
                    hasElement = try nextElement()
                }
            // Passed, their logs would be lost without a word.
            case "labels", "entries":
                throw JSONFault(.loki(.formerName), at: Int(tokens[member]))
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard hasValues else { throw JSONFault(.loki(.valuesMissing), at: Int(tokens[start])) }
        let logs = writer.logs
        guard logs.count > 0 else { return }
        if let known = streams.place(of: written) { return streams.append(logs, at: known) }
        do throws(LokiMistake) {
            let place = try streams.place(of: &tags, writtenAs: written, limits)
            streams.append(logs, at: place)
        } catch {
            throw JSONFault(.loki(error), at: Int(tokens[start]))
        }
    }

    /// Reads the labels that come next, and returns them as they are written. Labels that are written as before are passed.
    private mutating func lokiLabels(
        unlessKnownTo streams: borrowing LokiStreams
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        let start = try pass()
        let first = Int(tokens[start])
        let written = UnsafeBufferPointer(
            start: text + first,
            count: Int(tokens[next - 1]) + 1 - first
        )
        if streams.place(of: written) == nil {
            next = start
            try lokiLabels()
        }
        return written
    }

    /// Gathers labels. A label without a value is none, as in Loki.
    private mutating func lokiLabels() throws(JSONFault) {
        var hasMember = try enterObject()
        while hasMember {
            let member = next
            makeRoom(from: Int(tokens[member]))
            let name = try memberName()
            let token = next
            // A name that had escapes stands where the value would.
            let offset = writer.length + name.count
            let (count, kind) = try value(to: offset, depth: 4)
            guard kind != .nested else {
                throw JSONFault(.loki(.labelExpected), at: Int(tokens[token]))
            }
            if count > 0 {
                let value = UnsafeBufferPointer(
                    start: UnsafePointer(writer.memory.start) + offset,
                    count: count
                )
                tags.add(name, value, limits)
            }
            hasMember = try nextMember()
        }
    }

    /// `["ns","line"]` or `["ns","line",{…}]`.
    private mutating func lokiEntry() throws(JSONFault) {
        if try takeNull() { return }
        guard !writer.isFull else { throw fault(.tooManyLogs(limits.logs)) }
        let first = next
        let start = Int(tokens[first])
        let none = JSONFault(.loki(.entryExpected), at: start)
        guard byte == UInt8(ascii: "["), try enterArray() else { throw none }
        writer.startLog()
        try lokiTime()
        guard try nextElement() else { throw none }
        guard next < tokenCount else { throw unfinished }
        guard byte == UInt8(ascii: "\"") else { throw fault(.otlp(.stringExpected)) }
        try field(LokiField.line)
        if try nextElement() {
            try lokiMetadata()
            while try nextElement() { try skipValue() }
        }
        writer.endLog()
        try checkFields(of: first)
    }

    private mutating func lokiTime() throws(JSONFault) {
        guard next < tokenCount else { throw unfinished }
        let token = next
        guard byte == UInt8(ascii: "\"") else { throw fault(.loki(.timeExpected)) }
        guard let time = Int64(String(decoding: try string(), as: UTF8.self)) else {
            throw JSONFault(.loki(.timeExpected), at: Int(tokens[token]))
        }
        writer.time(lokiNanoseconds: time)
    }

    /// Its members are fields like those of any log.
    private mutating func lokiMetadata() throws(JSONFault) {
        if try takeNull() { return }
        var hasMember = try enterObject()
        while hasMember {
            let member = next
            if LokiField.line ~= (try memberName()) {
                try field(LokiField.taken)
            } else {
                next = member
                try field(depth: 6)
            }
            hasMember = try nextMember()
        }
    }

    /// The value that comes next as the field of this name.
    private mutating func field(_ name: StaticString) throws(JSONFault) {
        makeRoom(from: Int(tokens[next]))
        (writer.memory.start + writer.nameOffset)
            .update(from: name.utf8Start, count: name.utf8CodeUnitCount)
        let field = writer.openField(nameBytes: name.utf8CodeUnitCount)
        let (count, _) = try value(to: field.value, depth: 6)
        writer.close(field, valueBytes: count)
    }
}

extension LogWriter {
    /// Loki's times are signed; nothing was logged before 1970.
    mutating func time(lokiNanoseconds time: Int64) {
        guard time < 0 else { return self.time(nanosecondsSince1970: UInt64(time)) }
        _ = takeImpossibleTime()
        field(name: ReservedKey.originalTimeField, value: Array("\(time)".utf8))
    }
}
