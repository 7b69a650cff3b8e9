import HTTP
import Ingest

/// A captured request as a line for `sh`.
struct CurlLine {
    /// curl makes these itself, or they describe the body as it was compressed.
    private static let leftOut: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "content-encoding",
        "x-log-compresstype", "x-log-bodyrawsize", "accept-encoding", "expect",
    ]

    let text: String

    init(_ record: CaptureRecord) throws(HTTPProblem) {
        var words = ["curl", "--globoff", "--path-as-is", "--request", record.method]
        words += ["--url", record.url]
        var hasType = false
        for (name, value) in record.fields where !Self.leftOut.contains(name.lowercased()) {
            hasType = hasType || name.lowercased() == "content-type"
            // curl drops a field whose value is empty, unless a semicolon takes the colon's place.
            words += ["--header", value.isEmpty ? "\(name);" : "\(name): \(value)"]
        }
        if let body = record.shownBody, body.bytes > 0 {
            guard let content = body.text, !body.isCut, !content.utf8.contains(0) else {
                let reason =
                    body.isCut ? "only its beginning is kept" : body.reason ?? "it has a NUL"
                throw HTTPProblem(
                    409,
                    "BodyNotKept",
                    "record \(record.number) has no body for a command line: \(reason)"
                )
            }
            // Else curl calls every body a form.
            if !hasType { words += ["--header", "content-type:"] }
            words += ["--data-raw", content]
        }
        text = words.map(Self.quoted).joined(separator: " ") + "\n"
    }

    /// Within single quotes `sh` leaves everything as it is.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                || $0 == 0x2d || $0 == 0x2f || $0 == 0x2e
        }
        guard !isPlain || word.isEmpty else { return word }
        return "'\(word.replacing("'", with: #"'\''"#))'"
    }
}
