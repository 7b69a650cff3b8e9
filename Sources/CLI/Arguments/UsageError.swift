import Configuration

/// An error in the command line, in one line with a hint.
struct UsageError: Error {
    let text: String

    init(_ problem: String, hint: String) {
        text = "\(problem) (see: \(hint))"
    }

    static func unknown(
        _ what: String,
        _ word: String,
        among names: [String],
        hint: String
    ) -> UsageError {
        let meant = nearMiss(word, among: names).map { ", did you mean \($0)?" } ?? ""
        return UsageError("unknown \(what) \(word)\(meant)", hint: hint)
    }
}
