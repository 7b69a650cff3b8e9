/// A mistake in a JSON body as the hot path reports it: plain numbers, so that throwing costs the
/// path that does not throw nothing.
struct JSONFault: Error, Equatable {
    let reason: Reason
    let position: Int

    enum Reason: Equatable {
        case empty, tooLarge, noMemory
        case unfinished, unclosedString, badUTF8, controlCharacter, unexpectedCharacter
        case keyExpected, colonExpected, valueExpected, objectEndExpected, arrayEndExpected
        case badNumber, badLiteral, badEscape
        case tooDeep(Int)
        case logExpected, tooManyLogs(Int), tooManyFields(Int)
        case timeUnreadable, timeOutOfRange
        case trackingObjectExpected, textFollows
        case logsMissing, logsNotArray, logsRepeated
        case topicTooLong(Int), sourceTooLong(Int)
        case repairTooLarge(Int), unreadableTooLarge(Int), tooManyUnreadable(Int)
        case tagsNotObject, tagsRepeated
        case otlp(OTLPMistake)
        case splunk(SplunkMistake)
        case bulk(BulkMistake)
        case loki(LokiMistake)
    }

    init(_ reason: Reason, at position: Int) {
        self.reason = reason
        self.position = position
    }
}

extension JSONFault.Reason {
    var kind: LogDecodingError.Kind {
        switch self {
        case .otlp(.tooLarge), .repairTooLarge: .tooLarge
        case .noMemory: .noMemory
        default: .unreadable
        }
    }

    /// Whether it concerns the request as a whole, and not only the log that it was found at.
    var isOfRequest: Bool {
        switch self {
        case .empty, .tooLarge, .noMemory, .tooManyLogs: true
        case .repairTooLarge, .unreadableTooLarge, .tooManyUnreadable: true
        case .otlp(.tooLarge), .splunk(.tooManyOrigins), .loki(.tooManyStreams): true
        case .loki(.tooManyLabels): true
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
        case .badNumber: "this is not a JSON number"
        case .badLiteral: "only true, false and null can stand here without quotes"
        case .badEscape: "this is not a JSON escape"
        case .tooDeep(let limit): "objects and arrays are nested deeper than \(limit)"
        case .logExpected: "a log must be an object with its fields"
        case .tooManyLogs(let limit): "the body has more than \(limit) logs; send smaller batches"
        case .tooManyFields(let limit):
            "a log has more than \(limit) different fields (limits.log_fields)"
        case .timeUnreadable:
            "a log's time must be a number since 1970 (s, ms, us or ns) or text like 2025-01-14T08:30:00Z"
        case .timeOutOfRange: "a log's time must lie between 1970 and 2106"
        case .trackingObjectExpected: "the body must be one object with __logs__"
        case .textFollows: "nothing may follow the object"
        case .logsMissing: "the object has no __logs__"
        case .logsNotArray: "__logs__ must be an array of objects"
        case .logsRepeated: "__logs__ may occur only once"
        case .topicTooLong(let limit): "__topic__ must not exceed \(limit) bytes"
        case .sourceTooLong(let limit): "__source__ must not exceed \(limit) bytes"
        case .tagsNotObject: "__tags__ must be an object"
        case .tagsRepeated: "__tags__ may occur only once"
        case .repairTooLarge(let limit):
            "replacing what is damaged would add more than \(limit) bytes to the body"
        case .unreadableTooLarge(let limit):
            "more than \(limit) bytes in a row cannot be read; nothing of the body is stored"
        case .tooManyUnreadable(let limit):
            "more than \(limit) parts of the body cannot be read; nothing of it is stored"
        case .otlp(let mistake): mistake.sentence
        case .splunk(let mistake): mistake.sentence
        case .bulk(let mistake): mistake.sentence
        case .loki(let mistake): mistake.sentence
        }
    }
}
