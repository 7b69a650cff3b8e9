// The mistakes of each JSON format. They stand beside `JSONFault`, which carries them as plain values: the cursor throws
// them on the hot path, and knows no format.

/// Why a line is not one of Elasticsearch's `_bulk`.
enum BulkMistake: Equatable {
    /// Elasticsearch's own limit for ids.
    static let nameBytesMax = 512

    case actionExpected, objectExpected, oneActionExpected, lineEndExpected
    case nameExpected, nameTooLong

    var sentence: String {
        switch self {
        case .actionExpected:
            "an object with one of index, create, update and delete is expected here"
        case .objectExpected: "what is known of the document must be an object"
        case .oneActionExpected: "a line has one action"
        case .lineEndExpected: "the line must end here"
        case .nameExpected: "_index and _id must be text"
        case .nameTooLong: "_index and _id must not exceed \(Self.nameBytesMax) bytes"
        }
    }
}

/// Why JSON is not a Splunk event.
enum SplunkMistake: Equatable {
    case objectExpected, memberRepeated
    case eventMissing, eventBlank
    case timeExpected, fieldsExpected
    case originExpected, originTooLong(Int), tooManyOrigins(Int)
    case acksExpected

    var sentence: String {
        switch self {
        case .objectExpected: "an event must be an object with the member event"
        case .memberRepeated: "this member may occur only once"
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

/// Why a push is not Loki's.
enum LokiMistake: Error, Equatable {
    case streamsMissing, valuesMissing, formerName
    case entryExpected, timeExpected, labelExpected
    case tooManyStreams(Int), tooManyLabels(Int)

    var sentence: String {
        switch self {
        case .streamsMissing: "the object has no streams"
        case .valuesMissing: "the stream has no values"
        case .formerName:
            "labels and entries are what Loki had before stream and values, and are not read"
        case .entryExpected:
            "an entry is an array: its time in nanoseconds as text, its line, and perhaps an object"
        case .timeExpected: "an entry's time is text: nanoseconds since 1970 that fit 64 bits"
        case .labelExpected: "a label's value must be text"
        case .tooManyStreams(let limit):
            "the request has more than \(limit) streams with different labels (limits.label_sets); send smaller batches"
        case .tooManyLabels(let limit):
            "the streams with different labels have more than \(limit) labels together (limits.labels); send smaller batches"
        }
    }
}

/// Why JSON is not OTLP.
enum OTLPMistake: Equatable {
    case objectExpected, arrayExpected, stringExpected
    case integerExpected, numberExpected, booleanExpected
    case hexExpected, base64Expected
    case formerName, otherSignal, memberRepeated, kindRepeated, disordered
    case tooLarge(Int)

    var sentence: String {
        switch self {
        case .objectExpected: "an object is expected here"
        case .arrayExpected: "an array is expected here"
        case .stringExpected: "a string is expected here"
        case .integerExpected:
            "OTLP has a whole number here that fits its type, in quotes or without"
        case .numberExpected: "OTLP has a number here, or \"NaN\", \"Infinity\" or \"-Infinity\""
        case .booleanExpected: "OTLP has true or false here"
        case .hexExpected: "the ids of traces and spans are hexadecimal digits, two for each byte"
        case .base64Expected: "bytesValue must be base64"
        case .formerName:
            "instrumentationLibraryLogs is how OTLP called scopeLogs before 0.15; update the exporter"
        case .otherSignal: "these are no logs; traces and metrics are not taken here"
        case .memberRepeated: "this member may occur only once"
        case .kindRepeated: "a value can be of one kind only"
        case .disordered:
            "too much stands in front of its key, its scope or its resource; write those first"
        case .tooLarge(let bytesMax):
            "the logs take more than \(bytesMax) bytes as they are stored; send smaller batches"
        }
    }
}
