extension JSONLogDecoder {
    /// Reads what a client of Splunk asks about: `{"acks":[7,8]}`. Of more than `most` ids the rest is checked and left
    /// out. The body must have 64 readable bytes after its end.
    package func decodeAcknowledgements(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        atMost most: Int
    ) throws(LogDecodingError) -> [UInt64] {
        try decode(body, timing, LogRules(), lenientTimes: true) { walk throws(JSONFault) in
            try walk.acknowledgements(atMost: most)
        }
    }
}

extension JSONLogWalk {
    fileprivate mutating func acknowledgements(atMost most: Int) throws(JSONFault) -> [UInt64] {
        guard byte == UInt8(ascii: "{") else { throw fault(.splunk(.acksExpected)) }
        let start = Int(tokens[next])
        var ids: [UInt64]?
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "acks": ids = try acknowledgementIDs(atMost: most)
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard next == tokenCount else { throw fault(.textFollows) }
        guard let ids else { throw JSONFault(.splunk(.acksExpected), at: start) }
        return ids
    }

    private mutating func acknowledgementIDs(atMost most: Int) throws(JSONFault) -> [UInt64] {
        guard byte == UInt8(ascii: "[") else { throw fault(.splunk(.acksExpected)) }
        var ids: [UInt64] = []
        var hasElement = try enterArray()
        while hasElement {
            guard next < tokenCount else { throw unfinished }
            let place = Int(tokens[next])
            makeRoom(from: place)
            let (count, kind) = try value(to: writer.length, depth: 1)
            let digits = UnsafeBufferPointer(
                start: UnsafePointer(writer.memory.start + writer.length),
                count: count
            )
            guard kind == .number, let id = acknowledgementID(digits) else {
                throw JSONFault(.splunk(.acksExpected), at: place)
            }
            if ids.count < most { ids.append(id) }
            hasElement = try nextElement()
        }
        return ids
    }

    /// Nil when it has a sign, a fraction or an exponent, or more than 64 bits.
    private func acknowledgementID(_ digits: UnsafeBufferPointer<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            guard (0x30...0x39).contains(digit), !isTooLarge else { return nil }
            let (sum, isPast) = tens.addingReportingOverflow(UInt64(digit & 15))
            guard !isPast else { return nil }
            number = sum
        }
        return number
    }
}
