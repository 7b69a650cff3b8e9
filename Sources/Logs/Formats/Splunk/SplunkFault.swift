/// Why a body cannot be read as Splunk's events.
package struct SplunkFault: Error, Equatable, Sendable {
    /// The faults that Splunk has codes for.
    package enum Kind: Sendable {
        case noData, eventMissing, eventBlank, fields, tooMany
        case other
    }

    package let kind: Kind
    /// The event at fault, from zero; nil when the body cannot be read as JSON at all.
    package let event: Int?
    package let cause: LogDecodingError
}

extension SplunkFault.Kind {
    init(_ reason: JSONFault.Reason?) {
        switch reason {
        case .tooManyLogs: self = .tooMany
        case .format(let mistake as SplunkMistake): self = mistake.faultKind
        default: self = .other
        }
    }
}

/// Why JSON is not a Splunk event.
enum SplunkMistake: FormatMistake {
    case objectExpected
    case eventMissing, eventBlank
    case timeExpected, fieldsExpected
    case originExpected, originTooLong(Int), tooManyOrigins(Int)
    case acksExpected

    fileprivate var faultKind: SplunkFault.Kind {
        switch self {
        case .eventMissing: .eventMissing
        case .eventBlank: .eventBlank
        case .fieldsExpected: .fields
        case .tooManyOrigins: .tooMany
        default: .other
        }
    }

    var concernsRequest: Bool {
        if case .tooManyOrigins = self { true } else { false }
    }

    var sentence: String {
        switch self {
        case .objectExpected: "an event must be an object with the member event"
        case .eventMissing: "the object has no event, or it is null"
        case .eventBlank: "event must not be empty"
        case .timeExpected: "time must be a number of seconds since 1970, in quotes or without"
        case .fieldsExpected: "fields must be an object"
        case .originExpected: "host, source, sourcetype and index must be text"
        case .originTooLong(let limit):
            "host, source, sourcetype and index must not exceed \(limit) bytes together"
        case .tooManyOrigins(let limit):
            "the events differ in host, source, sourcetype or index more than \(limit) times "
                + "(limits.label_sets); send smaller batches"
        case .acksExpected:
            "an object is expected with acks, a list of the ackId of earlier answers"
        }
    }
}
