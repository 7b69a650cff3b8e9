/// Why a step could not be done.
enum StepFailure: Error {
    case nameTooLong, valueTooLong, tooManyFields, tooMuchText
    case notJSON, notPairs, noMatch, tooManyParsedFields
    case tag, tooManyTags
    case noSecret, tooManyMatches

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
        case .noSecret: "there is no filters_secret"
        case .tooManyMatches: "the pattern matches too often"
        }
    }
}
