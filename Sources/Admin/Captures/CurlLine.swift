import HTTP
import Ingest
import System

/// A captured request as a line for `sh`.
struct CurlLine {
    /// curl makes these itself, or they describe the body as it was compressed.
    private static let leftOut: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "content-encoding",
        "x-log-compresstype", "x-log-bodyrawsize", "accept-encoding", "expect",
    ]

    let text: String

    init(_ record: CaptureRecord) throws(HTTPProblem) {
        var words = ["curl", "--globoff", "--path-as-is", "--request", Self.word(record.method)]
        words += ["--url", Self.word(record.url)]
        var hasType = false
        for (name, value) in record.fields where !Self.leftOut.contains(name.lowercased()) {
            hasType = hasType || name.lowercased() == "content-type"
            // curl drops a field whose value is empty, unless a semicolon takes the colon's place.
            words += ["--header", Self.word(value.isEmpty ? "\(name);" : "\(name): \(value)")]
        }
        if let body = record.shownBody, body.bytes > 0 {
            guard let content = body.text, !body.isCut else {
                let reason =
                    body.isCut ? "only its beginning is kept" : body.reason ?? "it is no text"
                throw HTTPProblem(
                    409,
                    "BodyNotKept",
                    "record \(record.number) has no body for a command line: \(reason)"
                )
            }
            // Else curl calls every body a form.
            if !hasType { words += ["--header", "content-type:"] }
            if let word = ShellWord.quoted(content) {
                words += ["--data-raw", word]
            } else {
                words = [ShellWord.printing(content), "|"] + words + ["--data-binary", "@-"]
            }
        }
        text = words.joined(separator: " ") + "\n"
    }

    /// A head has no NUL and no line end.
    private static func word(_ text: String) -> String { ShellWord.quoted(text) ?? "''" }
}
