import HTTP
import JSON

/// The form of all answers to Elasticsearch's clients: the header by which they recognise
/// Elasticsearch, and the media type that they asked for.
struct ElasticMedia: Sendable {
    /// The major version whose format the client wants; nil when it names none.
    private let version: Substring?

    init(_ head: borrowing RequestHead) {
        version = head.field("accept").flatMap(Self.version)
    }

    /// Parses `application/vnd.elasticsearch+json; compatible-with=8`.
    private static func version(_ accept: String) -> Substring? {
        let wanted = accept.filter { $0 != " " }[...]
        let type = "application/vnd.elasticsearch+json;compatible-with="
        guard wanted.hasPrefix(type) else { return nil }
        let digits = wanted.dropFirst(type.count).prefix { $0.isASCII && $0.isNumber }
        return (1...2).contains(digits.count) ? digits : nil
    }

    private var contentType: String {
        guard let version else { return "application/json" }
        return "application/vnd.elasticsearch+json;compatible-with=\(version)"
    }

    func response(_ status: Int, _ body: [UInt8]) -> Response {
        Response(
            status: status,
            fields: [
                ("content-type", contentType), ("x-elastic-product", "Elasticsearch"),
                // A browser gets this at the root, and must not treat it as a page.
                ("x-content-type-options", "nosniff"),
            ],
            body: body
        )
    }

    /// A refusal in Elasticsearch's format. Its clients keep logs that are answered with 429 or
    /// 503.
    func response(_ refusal: Refusal) -> Response {
        var json = JSONWriter()
        json.object { json in
            json.object("error") { json in
                json.array("root_cause") { json in
                    json.object { $0.cause(refusal) }
                }
                json.cause(refusal)
            }
            json.member("status", refusal.status)
        }
        return response(refusal.status, json.bytes)
    }
}

extension ElasticMedia {
    /// Elasticsearch's name for a refusal.
    fileprivate static func errorType(of refusal: Refusal) -> String {
        switch (refusal.status, refusal.code) {
        case (_, "IndexInvalid"): "invalid_index_name_exception"
        case (401, _), (403, _): "security_exception"
        case (404, _): "index_not_found_exception"
        case (405, _): "method_not_allowed_exception"
        case (413, _): "content_too_long_exception"
        case (429, _): "es_rejected_execution_exception"
        case (503, _): "unavailable_shards_exception"
        case (500..., _): "internal_server_error"
        default: "illegal_argument_exception"
        }
    }
}

extension JSONWriter {
    mutating func cause(_ refusal: Refusal) {
        member("type", ElasticMedia.errorType(of: refusal))
        member("reason", refusal.reason)
    }
}
