/// Why a body cannot be read as Splunk's events.
package struct SplunkFault: Error, Equatable, Sendable {
    /// What Splunk has codes of its own for.
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
        case .splunk(.eventMissing): self = .eventMissing
        case .splunk(.eventBlank): self = .eventBlank
        case .splunk(.fieldsExpected): self = .fields
        case .splunk(.tooManyOrigins), .tooManyLogs: self = .tooMany
        default: self = .other
        }
    }
}
