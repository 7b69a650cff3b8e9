extension JSONLogDecoder {
    /// Reads what a client of Splunk asks about: `{"acks":[7,8]}`. Ids beyond `most` are checked
    /// and left out.
    package func decodeAcknowledgements(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        atMost most: Int
    ) throws(LogDecodingError) -> [UInt64] {
        try decode(JSONBody(body, timing, LogRules())) { json throws(JSONFault) in
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
            guard kind == .number, let id = number(digits) else {
                throw SplunkMistake.acksExpected.at(position)
            }
            if ids.count < most { ids.append(id) }
            hasElement = try json.cursor.nextElement()
        }
        return ids
    }

    /// Nil when it has a sign, a fraction or an exponent, or more than 64 bits.
    private func number(_ digits: UnsafeBufferPointer<UInt8>) -> UInt64? {
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
