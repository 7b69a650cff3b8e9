import Ingest
import JSON
import System

/// Captured requests as an HTTP archive (HAR 1.2), for browsers and mitmproxy. Members of our own begin with an
/// underscore, as the format wants.
struct HARDocument {
    private let records: [CaptureRecord]

    init(_ records: [CaptureRecord]) {
        self.records = records
    }

    var text: String {
        var json = JSONWriter()
        json.object { json in
            json.object("log") { json in
                json.member("version", "1.2")
                json.object("creator") { json in
                    json.member("name", "sluice")
                    json.member("version", Version.current)
                }
                json.array("pages") { _ in }
                json.array("entries") { json in
                    for record in records { json.object { $0.entry(record) } }
                }
            }
        }
        return json.text + "\n"
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
            json.member("record", record.number)
            json.member("client", record.address)
            json.member("receipt", record.receipt)
            json.member("refusal", record.refusal)
            json.member("body_sha256", record.body?.sha256)
            json.member("body_note", record.shownBody?.reason ?? record.body?.reason)
        }
    }

    private mutating func request(_ record: CaptureRecord) {
        member("method", record.method)
        member("url", record.url)
        member("httpVersion", "HTTP/1.\(record.minorVersion)")
        array("cookies") { _ in }
        headers(record.fields)
        array("queryString") { json in
            for (name, value) in record.queryPairs {
                json.object { json in
                    json.member("name", name)
                    json.member("value", value)
                }
            }
        }
        if let body = record.shownBody, let text = body.text {
            object("postData") { json in
                json.member("mimeType", record.field("content-type") ?? "")
                json.member("text", text)
                if body.isCut { json.member("comment", "only the beginning is kept") }
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
        headers(answer?.fields ?? [])
        object("content") { json in
            json.member("size", answer?.body.utf8.count ?? 0)
            json.member("mimeType", type)
            json.member("text", answer?.body ?? "")
        }
        member("redirectURL", "")
        member("headersSize", -1)
        member("bodySize", answer?.body.utf8.count ?? -1)
    }

    private mutating func headers(_ fields: CaptureRecord.Fields) {
        array("headers") { json in
            for field in fields {
                json.object { json in
                    json.member("name", field.name)
                    json.member("value", field.value)
                }
            }
        }
    }
}

extension CaptureRecord {
    /// The body as text: inflated, where it came compressed.
    var shownBody: Body? { inflated ?? body }

    func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name }?.value
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
