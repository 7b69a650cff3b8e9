// Texts that should be logs and cannot be read as such.
extension JSONLogWalk {
    /// Whether the body has a log that could be read, or nothing that could not.
    var hasReadable: Bool {
        unreadable == 0 || limits.logs - writer.logsMax + writer.logCount > unreadable
    }

    /// Writes a text that is no log as one that is set aside, unless the body has more such than anybody wants to look
    /// through: then it is another format, and each dead letter is a row of the queue. `offset` is where the walk's text
    /// starts in the body.
    mutating func setAside(
        _ text: UnsafeBufferPointer<UInt8>,
        _ fault: JSONFault,
        at offset: Int = 0
    ) throws(JSONFault) {
        guard !fault.reason.isOfRequest else { throw fault }
        guard text.count <= limits.unreadableBytes else {
            throw JSONFault(.unreadableTooLarge(limits.unreadableBytes), at: fault.position)
        }
        guard unreadable < limits.unreadable else {
            throw JSONFault(.tooManyUnreadable(limits.unreadable), at: fault.position)
        }
        guard !writer.isFull else { throw JSONFault(.tooManyLogs(limits.logs), at: fault.position) }
        unreadable += 1
        let reason = fault.reason.sentence
        writer.setAside(unreadable: text, .unreadable(at: fault.position + offset, reason: reason))
    }

    /// An element of an array of logs, or else its text. What lies between its brackets may be anything that has
    /// brackets in pairs.
    mutating func logOrText(depth: Int) throws(JSONFault) {
        let (first, kept) = (next, writer.length)
        do throws(JSONFault) {
            try element(depth: depth)
        } catch {
            writer.abandonLog(keeping: kept)
            guard passElement(from: first) else { throw error }
            let start = Int(tokens[first])
            var end = next < tokenCount ? Int(tokens[next]) : textCount
            while end > start, text[end - 1] <= 0x20 { end -= 1 }
            guard notesDamaged else {
                let element = UnsafeBufferPointer(start: text + start, count: end - start)
                return try setAside(element, error)
            }
            guard !error.reason.isOfRequest else { throw error }
            guard damaged.count < limits.unreadable else {
                throw JSONFault(.tooManyUnreadable(limits.unreadable), at: error.position)
            }
            damaged.append((start..<end, error))
        }
    }

    /// Goes behind the element at a token. False when it has no end.
    private mutating func passElement(from first: Int) -> Bool {
        next = first
        var depth = 0
        repeat {
            guard next < tokenCount else { return false }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            next += 1
        } while depth > 0
        return depth == 0
    }
}
