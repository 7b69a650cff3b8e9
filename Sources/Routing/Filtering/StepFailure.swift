/// Why a step could not be done.
enum StepFailure: Error {
    case nameTooLong, valueTooLong, tooManyFields, tooMuchText
    case notJSON, notPairs, noMatch, tooManyParsedFields
    case tag, tooManyTags
    case notArray, tooManyElements(most: Int), tooMuchSplit, tooDeepSplit
    case notTime, labelTooLong, tooManyLabels
    case noSecret, tooManyMatches, outOfWork

    var reason: String {
        switch self {
        case .nameTooLong: "the new name of a field is too long"
        case .valueTooLong: "the new value of a field is too long"
        case .tooManyFields: "the log would have too many fields"
        case .tooMuchText: "the filters write too much text for one log"
        case .notJSON: "the value is no JSON object"
        case .notPairs: "the value has no key=value pairs"
        case .noMatch: "the pattern does not match the value"
        case .tooManyParsedFields: "the value has more than \(Parsing.fieldsMax) fields"
        case .tag: "the new tag is not 1 to 128 bytes of printable text"
        case .tooManyTags: "the logs of the request would have too many different tags"
        case .notArray: "the value is no JSON array"
        case .tooManyElements(let most): "the array has more than \(most) elements"
        case .tooMuchSplit: "the logs of the request would grow too much when they are split"
        case .tooDeepSplit:
            "logs would be split more than \(LogFilter.splitsMax) times, one within the other"
        case .notTime: "the value is no time in this format"
        case .labelTooLong: "the new topic or source is too long"
        case .tooManyLabels:
            "the logs of the request would have too many different topics and sources"
        case .noSecret: "there is no filters_secret"
        case .tooManyMatches: "the pattern matches too often"
        case .outOfWork: "the trial needs too much work"
        }
    }
}
