/// Why a JSON body cannot be read, and where. Small enough for registers. Making a `.format` reason
/// allocates, so make one only to throw it.
struct JSONFault: Error {
    let reason: Reason
    let position: Int

    enum Reason {
        case empty, tooLarge, noMemory
        case unfinished, unclosedString, badUTF8, controlCharacter, unexpectedCharacter
        case keyExpected, colonExpected, valueExpected, objectEndExpected, arrayEndExpected
        case objectExpected, arrayExpected, stringExpected, memberRepeated, textFollows
        case badNumber, badLiteral, badEscape
        case tooDeep(Int)
        case logExpected, tooManyLogs(Int), tooManyFields(Int)
        case timeUnreadable, timeOutOfRange
        case repairTooLarge(Int), unreadableTooLarge(Int), tooManyUnreadable(Int)
        /// The JSON is sound, but is not what the body's format expects.
        indirect case format(any FormatMistake)
    }

    init(_ reason: Reason, at position: Int) {
        self.reason = reason
        self.position = position
    }

    /// The fault as the client is told it, from the start of the body.
    func moved(by start: Int) -> LogDecodingError {
        LogDecodingError(position: position + start, reason: reason.sentence, kind: reason.kind)
    }
}

/// What a format expects of a body beyond JSON. Each format has its own mistakes, in its folder.
protocol FormatMistake: Sendable {
    /// For the developer who sent the body.
    var sentence: String { get }
    /// True when the request as a whole is at fault, not only the log where the mistake was found.
    var concernsRequest: Bool { get }
    var kind: LogDecodingError.Kind { get }
}

extension FormatMistake {
    var concernsRequest: Bool { false }
    var kind: LogDecodingError.Kind { .unreadable }

    /// The mistake, at this byte of the text.
    func at(_ position: Int) -> JSONFault {
        JSONFault(.format(self), at: position)
    }
}

extension JSONFault.Reason {
    var kind: LogDecodingError.Kind {
        switch self {
        case .repairTooLarge: .tooLarge
        case .noMemory: .noMemory
        case .format(let mistake): mistake.kind
        default: .unreadable
        }
    }

    var concernsRequest: Bool {
        switch self {
        case .empty, .tooLarge, .noMemory, .tooManyLogs: true
        case .repairTooLarge, .unreadableTooLarge, .tooManyUnreadable: true
        case .format(let mistake): mistake.concernsRequest
        default: false
        }
    }

    var sentence: String {
        switch self {
        case .empty: "the body has no log: send an object, an array of objects, or one a line"
        case .tooLarge: "the body exceeds 4 GiB"
        case .noMemory: "the gateway has no memory for a body of this size now; send the logs again"
        case .unfinished: "the JSON ends too early"
        case .unclosedString: "the string that starts here is never closed"
        case .badUTF8: "this is not UTF-8"
        case .controlCharacter: "control characters in strings must be escaped, as \\n or \\u001f"
        case .unexpectedCharacter: "no JSON value starts with this character"
        case .keyExpected: "a field's name in double quotes is expected here"
        case .colonExpected: "a colon is expected after a field's name"
        case .valueExpected: "a value is expected here"
        case .objectEndExpected: "a comma or a closing brace is expected here"
        case .arrayEndExpected: "a comma or a closing bracket is expected here"
        case .objectExpected: "an object is expected here"
        case .arrayExpected: "an array is expected here"
        case .stringExpected: "a string is expected here"
        case .memberRepeated: "this member may occur only once"
        case .textFollows: "nothing may follow the object"
        case .badNumber: "this is not a JSON number"
        case .badLiteral: "only true, false and null can stand here without quotes"
        case .badEscape: "this is not a JSON escape"
        case .tooDeep(let limit): "objects and arrays are nested deeper than \(limit)"
        case .logExpected: "a log must be an object with its fields"
        case .tooManyLogs(let limit): LogLimits.tooManyLogs(limit)
        case .tooManyFields(let limit): LogLimits.tooManyFields(limit)
        case .timeUnreadable:
            "a log's time must be a number since 1970 (s, ms, us or ns) or text like 2025-01-14T08:30:00Z"
        case .timeOutOfRange: "a log's time must lie between 1970 and 2106"
        case .repairTooLarge(let limit):
            "replacing what is damaged would add more than \(limit) bytes to the body"
        case .unreadableTooLarge(let limit):
            "more than \(limit) bytes in a row cannot be read; nothing of the body is stored"
        case .tooManyUnreadable(let limit):
            "more than \(limit) parts of the body cannot be read; nothing of it is stored"
        case .format(let mistake): mistake.sentence
        }
    }
}

extension JSONFault {
    /// Finds the mistake in a text that simdjson refused: slow, and only refused bodies need it.
    static func first(in text: UnsafeBufferPointer<UInt8>) -> JSONFault {
        var position = 0
        var stringStart: Int?
        while position < text.count {
            let byte = text[position]
            switch byte {
            case 0x80...:
                let size = UTF8Sequence.size(text, position)
                guard size > 0 else { return JSONFault(.badUTF8, at: position) }
                guard stringStart != nil else {
                    return JSONFault(.unexpectedCharacter, at: position)
                }
                position += size
                continue
            case UInt8(ascii: "\""):
                stringStart = stringStart == nil ? position : nil
            case UInt8(ascii: "\\"):
                guard stringStart != nil else {
                    return JSONFault(.unexpectedCharacter, at: position)
                }
                // The escaped byte cannot end the string; control characters are still found.
                if position + 1 < text.count, text[position + 1] >= 0x20, text[position + 1] < 0x80
                {
                    position += 1
                }
            case ..<0x20 where stringStart != nil:
                return JSONFault(.controlCharacter, at: position)
            default: break
            }
            position += 1
        }
        return JSONFault(
            stringStart == nil ? .unexpectedCharacter : .unclosedString,
            at: stringStart ?? 0
        )
    }
}
