extension JSONLogWalk {
    /// The members of a web tracking body that mean something.
    private enum Member {
        case logs, topic, source, tags, other

        init(_ name: UnsafeBufferPointer<UInt8>) {
            switch name {
            case "__logs__": self = .logs
            case "__topic__": self = .topic
            case "__source__": self = .source
            case "__tags__": self = .tags
            default: self = .other
            }
        }
    }

    /// One object; its members in any order, unknown ones ignored.
    mutating func trackingObject() throws(JSONFault) -> TrackedLogs {
        guard next < tokenCount, byte == UInt8(ascii: "{") else {
            throw fault(.trackingObjectExpected)
        }
        var tracked = TrackedLogs()
        var (hasLogs, hasTags) = (false, false)
        var hasMember = try enterObject()
        while hasMember {
            switch Member(try memberName()) {
            case .logs:
                guard !hasLogs else { throw fault(.logsRepeated) }
                guard byte == UInt8(ascii: "[") else { throw fault(.logsNotArray) }
                hasLogs = true
                try logArray(depth: 2)
            case .topic:
                let limit = limits.topicBytes
                tracked.topic = try text(upTo: limit, else: .topicTooLong(limit))
            case .source:
                let limit = limits.sourceBytes
                tracked.source = try text(upTo: limit, else: .sourceTooLong(limit))
            case .tags:
                guard !hasTags else { throw fault(.tagsRepeated) }
                hasTags = true
                tracked.tags = try trackedTags()
            case .other: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard hasLogs else { throw JSONFault(.logsMissing, at: 0) }
        guard next == tokenCount else { throw fault(.textFollows) }
        tracked.logs = writer.logs
        return tracked
    }

    /// The next value as text; nil for null.
    private mutating func text(
        upTo limit: Int,
        else reason: JSONFault.Reason
    ) throws(JSONFault) -> String? {
        let token = next
        makeRoom(from: Int(tokens[token]))
        let (count, kind) = try value(to: writer.length, depth: 1)
        guard kind != .null else { return nil }
        guard count <= limit else { throw JSONFault(reason, at: Int(tokens[token])) }
        let bytes = UnsafeBufferPointer(start: writer.memory.start + writer.length, count: count)
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func trackedTags() throws(JSONFault) -> [(key: String, value: String)] {
        if try takeNull() { return [] }
        guard byte == UInt8(ascii: "{") else { throw fault(.tagsNotObject) }
        tags.removeAll()
        var hasMember = try enterObject()
        while hasMember {
            makeRoom(from: Int(tokens[next]))
            let name = try memberName()
            // A name that had escapes stands where the value would.
            let offset = writer.length + name.count
            let (count, _) = try value(to: offset, depth: 2)
            let start = UnsafePointer(writer.memory.start) + offset
            tags.add(name, UnsafeBufferPointer(start: start, count: count), limits)
            hasMember = try nextMember()
        }
        return tags.tags
    }
}
