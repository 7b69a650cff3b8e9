/// What is wrong with a push that is none of Loki.
enum LokiMistake: Equatable {
    case streamsMissing, valuesMissing, formerName
    case entryExpected, timeExpected, labelExpected
    case tooManyStreams(Int)

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
            "the request has more than \(limit) streams with different labels; send smaller batches"
        }
    }
}
