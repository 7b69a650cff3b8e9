extension JSONLogWalk {
    /// The members of a web tracking body that mean something.
    private enum Member {
        case logs, topic, source, tags, other

        init(_ name: UnsafeBufferPointer<UInt8>) {
            switch String(decoding: name, as: UTF8.self) {
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
        try members { walk, name throws(JSONFault) in
            switch Member(name) {
            case .logs:
                guard !hasLogs else { throw walk.fault(.logsRepeated) }
                guard walk.byte == UInt8(ascii: "[") else { throw walk.fault(.logsNotArray) }
                hasLogs = true
                try walk.logArray(depth: 2)
            case .topic:
                let limit = walk.limits.topicBytes
                tracked.topic = try walk.text(upTo: limit, else: .topicTooLong(limit))
            case .source:
                let limit = walk.limits.sourceBytes
                tracked.source = try walk.text(upTo: limit, else: .sourceTooLong(limit))
            case .tags:
                guard !hasTags else { throw walk.fault(.tagsRepeated) }
                hasTags = true
                tracked.tags = try walk.tags()
            case .other: _ = try walk.value(to: walk.writer.length, depth: 1)
            }
        }
        guard hasLogs else { throw JSONFault(.logsMissing, at: 0) }
        guard next == tokenCount else { throw fault(.textFollows) }
        tracked.logs = writer.logs
        return tracked
    }

    /// Walks the members of the object that comes next. The body is called with the member's value as
    /// the next token and must read up to the token after it.
    private mutating func members(
        _ body: (inout Self, UnsafeBufferPointer<UInt8>) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        next += 1
        guard next < tokenCount else { throw unfinished }
        if byte == UInt8(ascii: "}") {
            next += 1
            return
        }
        while true {
            guard next < tokenCount else { throw unfinished }
            guard byte == UInt8(ascii: "\"") else { throw fault(.keyExpected) }
            let start = Int(tokens[next]) + 1
            guard next + 1 < tokenCount else { throw unfinished }
            let colon = Int(tokens[next + 1])
            guard text[colon] == UInt8(ascii: ":") else {
                throw JSONFault(.colonExpected, at: colon)
            }
            makeRoom(from: start)
            let quoted = try stringCount(start, before: colon)
            let count = try unescape(start, quoted, to: writer.length)
            // A copy: the value may be written where the name stands.
            let name = Array(copying: writer.memory.start + writer.length, count: count)
            next += 2
            guard next < tokenCount else { throw unfinished }
            try name.withUnsafeBufferPointer { name throws(JSONFault) in
                try body(&self, name)
            }
            guard next < tokenCount else { throw unfinished }
            let separator = byte
            guard separator == UInt8(ascii: ",") || separator == UInt8(ascii: "}") else {
                throw fault(.objectEndExpected)
            }
            next += 1
            if separator == UInt8(ascii: "}") { return }
        }
    }

    private mutating func text(
        upTo limit: Int,
        else reason: JSONFault.Reason
    ) throws(JSONFault) -> String? {
        let token = next
        let text = try text(depth: 1)
        guard text?.utf8.count ?? 0 <= limit else {
            throw JSONFault(reason, at: Int(tokens[token]))
        }
        return text
    }

    /// The next value as text; nil for null.
    private mutating func text(depth: Int) throws(JSONFault) -> String? {
        let (count, kind) = try value(to: writer.length, depth: depth)
        guard kind != .null else { return nil }
        let bytes = UnsafeBufferPointer(start: writer.memory.start + writer.length, count: count)
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func tags() throws(JSONFault) -> [(key: String, value: String)] {
        if byte == UInt8(ascii: "n") {
            _ = try value(to: writer.length, depth: 1)
            return []
        }
        guard byte == UInt8(ascii: "{") else { throw fault(.tagsNotObject) }
        var tags = GatheredTags()
        try members { walk, name throws(JSONFault) in
            let value = try walk.text(depth: 2)
            tags.add(String(decoding: name, as: UTF8.self), value ?? "", walk.limits)
        }
        return tags.tags
    }
}
