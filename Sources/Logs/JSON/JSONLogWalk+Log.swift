extension JSONLogWalk {
    /// One object as one log.
    mutating func log(depth: Int) throws(JSONFault) {
        guard !writer.isFull else { throw fault(.tooManyLogs(limits.logs)) }
        writer.startLog()
        next += 1
        guard next < tokenCount else { throw unfinished }
        if byte == UInt8(ascii: "}") {
            next += 1
        } else {
            try fields(depth: depth)
        }
        writer.endLog()
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
