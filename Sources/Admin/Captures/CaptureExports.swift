import HTTP
import Ingest
import JSON
import Queue
import System

/// Captured requests as an HTTP archive (HAR 1.2): an entry for each request and each delivery
/// attempt. The format demands an underscore before members of our own.
struct HARDocument {
    private let records: [CaptureRecord]

    init(_ records: [CaptureRecord]) {
        self.records = records
    }

    /// The document's beginning, the entries of each record, and its end.
    func piece(_ number: Int) -> [UInt8]? {
        guard number > 0 else { return frame.beginning }
        guard number <= records.count else { return number == records.count + 1 ? frame.end : nil }
        let record = records[number - 1]
        var json = JSONWriter()
        json.array { json in
            json.object { $0.entry(record) }
            for (index, each) in record.progress.attempts.enumerated() where each.isRequest {
                json.object { $0.entry(each, index + 1, of: record) }
            }
        }
        // Without the brackets.
        return (number > 1 ? [UInt8(ascii: ",")] : []) + json.bytes.dropFirst().dropLast()
    }

    /// The document before and after the entries.
    private var frame: (beginning: [UInt8], end: [UInt8]) {
        var json = JSONWriter()
        json.object { json in
            json.object("log") { json in
                json.member("version", "1.2")
                json.object("creator") { json in
                    json.member("name", "sluice")
                    json.member("version", Version.current)
                }
                json.array("pages") { _ in }
                json.array("entries") { _ in }
            }
        }
        let end = Array("]}}".utf8)
        return (json.bytes.dropLast(end.count), end + [UInt8(ascii: "\n")])
    }
}

extension JSONWriter {
    fileprivate mutating func entry(_ record: CaptureRecord) {
        let time = (record.answer?.time.inSeconds ?? 0) * 1000
        member("startedDateTime", record.time.rfc3339)
        member("time", decimal: time)
        object("request") { $0.request(record) }
        object("response") { $0.response(record) }
        object("cache") { _ in }
        object("timings") { json in
            json.member("send", 0)
            json.member("wait", decimal: time)
            json.member("receive", 0)
        }
        object("_sluice") { json in
            json.member("role", "ingest")
            json.member("record", record.number)
            json.member("client", record.address)
            json.member("receipt", record.receipt)
            json.member("refusal", record.refusal)
            json.member("body_sha256", record.body?.sha256)
            json.member("body_note", record.shownBody?.reason ?? record.body?.reason)
            json.array("written") { json in
                for each in record.progress.attempts where !each.isRequest {
                    json.object { $0.write(each) }
                }
            }
        }
    }

    private mutating func request(_ record: CaptureRecord) {
        member("method", record.method)
        member("url", record.url)
        member("httpVersion", "HTTP/1.\(record.minorVersion)")
        array("cookies") { _ in }
        pairs("headers", record.fields)
        pairs("queryString", record.queryPairs)
        if let body = record.shownBody, let text = body.text {
            object("postData") { json in
                json.member("mimeType", record.field("content-type") ?? "")
                json.member("text", text)
                if body.isCut { json.member("comment", "only the beginning is kept") }
            }
        } else if let logs = record.logsAsJSON {
            object("postData") { json in
                json.member("mimeType", "application/json")
                json.member("text", logs)
                json.member("comment", "the logs; the body itself is not kept")
            }
        }
        member("headersSize", -1)
        member("bodySize", record.body?.bytes ?? -1)
    }

    private mutating func response(_ record: CaptureRecord) {
        let answer = record.answer
        let type = answer?.fields.first { $0.name == "content-type" }?.value ?? "text/plain"
        member("status", answer?.status ?? 0)
        member("statusText", "")
        member("httpVersion", "HTTP/1.1")
        array("cookies") { _ in }
        pairs("headers", answer?.fields ?? [])
        object("content") { json in
            json.member("size", answer?.body.utf8.count ?? 0)
            json.member("mimeType", type)
            json.member("text", answer?.body ?? "")
        }
        member("redirectURL", "")
        member("headersSize", -1)
        member("bodySize", answer?.body.utf8.count ?? -1)
    }

    // MARK: - Attempts to deliver

    /// Files and standard output take no requests, so an archive has no entry for them.
    private mutating func write(_ attempt: PacketAttempt) {
        member("time", attempt.started.rfc3339)
        member("destination", attempt.packet.stream.destination)
        member("logs", attempt.packet.logCount)
        member("decision", attempt.result)
    }

    fileprivate mutating func entry(
        _ attempt: PacketAttempt,
        _ number: Int,
        of record: CaptureRecord
    ) {
        let connect = attempt.connectTime.map { $0.inSeconds * 1000 }
        member("startedDateTime", attempt.started.rfc3339)
        member("time", decimal: attempt.time.inSeconds * 1000)
        object("request") { json in
            json.member("method", "POST")
            json.member("url", attempt.endpoint)
            json.member("httpVersion", "HTTP/1.1")
            json.array("cookies") { _ in }
            json.pairs("headers", [])
            json.array("queryString") { _ in }
            json.member("headersSize", -1)
            json.member("bodySize", -1)
        }
        object("response") { json in
            json.member("status", attempt.status ?? 0)
            json.member("statusText", attempt.code ?? "")
            json.member("httpVersion", "HTTP/1.1")
            json.array("cookies") { _ in }
            json.pairs("headers", attempt.requestID.map { [("x-log-requestid", $0)] } ?? [])
            json.object("content") { json in
                json.member("size", -1)
                json.member("mimeType", "text/plain")
                json.member("text", attempt.message)
            }
            json.member("redirectURL", "")
            json.member("headersSize", -1)
            json.member("bodySize", -1)
        }
        object("cache") { _ in }
        object("timings") { json in
            json.member("connect", decimal: connect ?? -1)
            json.member("send", 0)
            json.member("wait", decimal: max(0, attempt.time.inSeconds * 1000 - (connect ?? 0)))
            json.member("receive", 0)
        }
        if !attempt.address.isEmpty { member("serverIPAddress", attempt.address) }
        object("_sluice") { json in
            json.member("role", "upstream")
            json.member("record", record.number)
            json.member("attempt", number)
            json.member("destination", attempt.packet.stream.destination)
            json.member("logstore", attempt.packet.stream.logstore)
            json.member("packet", attempt.packet.packID)
            json.member("logs", attempt.packet.logCount)
            json.member("resolver", attempt.resolver)
            json.member("decision", attempt.result)
        }
    }

    private mutating func pairs(_ name: String, _ fields: CaptureRecord.Fields) {
        objects(name, fields) { json, field in
            json.member("name", field.name)
            json.member("value", field.value)
        }
    }
}

extension PacketAttempt {
    /// False for files and standard output.
    fileprivate var isRequest: Bool {
        endpoint.hasPrefix("http://") || endpoint.hasPrefix("https://")
    }
}

extension CaptureRecord {
    /// The body as text: inflated, where it came compressed.
    var shownBody: Body? { inflated ?? body }

    /// The kept logs as a JSON array: before the filters, or behind them where a filter redacts.
    fileprivate var logsAsJSON: String? {
        guard !logs.isEmpty else { return nil }
        var json = JSONWriter()
        json.array { json in
            for log in logs {
                json.object { json in
                    for field in log.before ?? log.after ?? [] {
                        json.member(field.name, field.value)
                    }
                }
            }
        }
        return json.text
    }

    /// As the client called the gateway, as far as its head tells.
    var url: String {
        let host = field("host") ?? "gateway.invalid"
        return "http://\(host)\(path)\(query.map { "?\($0)" } ?? "")"
    }

    fileprivate var queryPairs: [(name: String, value: String)] {
        (query ?? "").split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let texts = sides.map { percentDecodedText(Array($0.utf8)[...]) ?? String($0) }
            return (texts[0], texts.count > 1 ? texts[1] : "")
        }
    }
}

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
                throw .conflict(
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
