/// What is wrong with a push that is none of Loki.
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
