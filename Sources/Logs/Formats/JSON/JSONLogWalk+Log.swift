extension JSONLogWalk {
    /// One object as one log.
    mutating func log(depth: Int) throws(JSONFault) {
        guard !writer.isFull else { throw fault(.tooManyLogs(limits.logs)) }
        let start = next
        writer.startLog()
        next += 1
        guard next < tokenCount else { throw unfinished }
        if byte == UInt8(ascii: "}") {
            next += 1
        } else {
            try fields(depth: depth)
        }
        // Before the log counts: what is refused here may be set aside while the others stay.
        try checkFields(of: start)
        writer.endLog()
        completeLog()
    }

    /// Refuses a log whose fields are written and are too many. It starts at this token.
    @inline(__always)
    func checkFields(of start: Int) throws(JSONFault) {
        guard writer.isCrowded else { return }
        throw JSONFault(.tooManyFields(limits.fields), at: Int(tokens[start]))
    }

    /// Fields and the closing brace. There is one field at least.
    mutating func fields(depth: Int) throws(JSONFault) {
        while true {
            try field(depth: depth)
            // A field ends before the last token.
            let separator = byte
            guard separator == UInt8(ascii: ",") else {
                guard separator == UInt8(ascii: "}") else { throw fault(.objectEndExpected) }
                next += 1
                return
            }
            next += 1
        }
    }
}
