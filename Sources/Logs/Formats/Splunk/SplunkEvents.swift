/// Where an event comes from, as its sender says. Missing parts are empty.
struct SplunkOrigin: Hashable {
    var host = ByteKey()
    var source = ByteKey()
    var sourcetype = ByteKey()
    var index = ByteKey()

    /// Keeps the memory for the next event.
    mutating func clear() {
        host.bytes.removeAll(keepingCapacity: true)
        source.bytes.removeAll(keepingCapacity: true)
        sourcetype.bytes.removeAll(keepingCapacity: true)
        index.bytes.removeAll(keepingCapacity: true)
    }

    var bytes: Int {
        host.bytes.count + source.bytes.count + sourcetype.bytes.count + index.bytes.count
    }
}

/// Events that have all of this in common.
package struct SplunkEvents: Sendable, Equatable {
    package var host = ""
    package var source = ""
    package var sourcetype = ""
    package var index = ""
    /// The first of them, from zero.
    package var first = 0
    package var logs = DecodedLogs()

    package init() {}
}

/// The events of one body as they are read.
struct SplunkGathering {
    var origin = SplunkOrigin()
    private(set) var count = 0
    private var parted: PartedLogs<SplunkOrigin>
    /// The first event of each index of `parted`.
    private var firsts: [Int] = []

    init(_ limits: LogLimits) {
        parted = PartedLogs(atMost: limits.streams)
    }

    /// Takes the written event, which is complete. False when its origin is one too many.
    mutating func take(from writer: inout LogWriter) -> Bool {
        guard let index = parted.index(of: origin) else { return false }
        if index == firsts.count { firsts.append(count) }
        parted.take(from: &writer, at: index)
        count += 1
        return true
    }

    var events: [SplunkEvents] {
        zip(parted.parts, firsts).map { part, first in
            var events = SplunkEvents()
            events.host = String(decoding: part.key.host.bytes, as: UTF8.self)
            events.source = String(decoding: part.key.source.bytes, as: UTF8.self)
            events.sourcetype = String(decoding: part.key.sourcetype.bytes, as: UTF8.self)
            events.index = String(decoding: part.key.index.bytes, as: UTF8.self)
            events.first = first
            events.logs = part.logs
            return events
        }
    }
}

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
