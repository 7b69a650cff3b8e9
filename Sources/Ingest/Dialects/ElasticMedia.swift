import HTTP
import JSON
import System

/// The form of all answers to Elasticsearch's clients: the header by which they recognise
/// Elasticsearch, and the media type that they asked for.
struct ElasticMedia: Sendable {
    /// The major version whose format the client wants; nil when it names none.
    private let version: Substring?

    init(_ head: RequestHead) {
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

/// An index that a request names, and the outcome of its documents.
struct ElasticIndex: Sendable {
    let name: String
    /// nil: the documents are accepted.
    var refusal: Refusal?

    /// Decodes an index in a path.
    static func name(_ text: ArraySlice<UInt8>) throws(Refusal) -> String {
        guard let name = percentDecodedText(text), TagText.isSound(name) else { throw .badIndex }
        return name
    }

    /// The name without a date at its end: clients start a new index each day, and logstores expire
    /// by themselves.
    static func tag(of index: String) -> String {
        let name = Array(index.utf8)
        for date in IndexDate.all {
            guard let start = date.start(in: name) else { continue }
            return String(decoding: name[..<start], as: UTF8.self)
        }
        return index
    }
}

/// A format of dates that clients append to an index name.
struct IndexDate {
    /// The longest first.
    static let all = [
        // Elasticsearch's own counter, after a rollover.
        IndexDate("-dddd.dd.dd-dddddd", .any, .month, .day, .any),
        IndexDate("-dddd.dd-dddddd", .any, .week, .any),
        IndexDate("-dddd.dd.dd.dd", .any, .month, .day, .hour),
        IndexDate("-dddd.dd.dd", .any, .month, .day),
        // A month or a week.
        IndexDate("-dddd.dd", .any, .week),
    ]

    private enum Number {
        case any, month, week, day, hour

        func contains(_ number: Int) -> Bool {
            switch self {
            case .any: true
            case .month: 1...12 ~= number
            case .week: 1...53 ~= number
            case .day: 1...31 ~= number
            case .hour: 0...23 ~= number
            }
        }
    }

    /// A `d` stands for a digit; other characters separate.
    private let pattern: [UInt8]
    private let numbers: [Number]

    private init(_ pattern: String, _ numbers: Number...) {
        (self.pattern, self.numbers) = (Array(pattern.utf8), numbers)
    }

    /// Where the date begins, after a name that is not empty.
    func start(in name: [UInt8]) -> Int? {
        let start = name.count - pattern.count
        guard start > 0 else { return nil }
        var (index, number) = (-1, 0)
        for (byte, kind) in zip(name[start...], pattern) {
            if kind == UInt8(ascii: "d") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                number = number * 10 + Int(byte & 15)
            } else {
                guard Self.separates(byte, kind) else { return nil }
                guard index < 0 || numbers[index].contains(number) else { return nil }
                (index, number) = (index + 1, 0)
            }
        }
        return numbers[index].contains(number) ? start : nil
    }

    private static func separates(_ byte: UInt8, _ kind: UInt8) -> Bool {
        byte == kind || byte == UInt8(ascii: "-")
            || kind == UInt8(ascii: "-") && (byte == UInt8(ascii: "_") || byte == UInt8(ascii: "."))
    }
}

extension DevicePage {
    /// A page that Elasticsearch's clients check before they send: a node that accepts documents
    /// and has nothing else.
    static func elastic(
        _ path: UnsafeBufferPointer<UInt8>,
        _ head: RequestHead
    ) -> DevicePage? {
        let body: String?
        if path.equals("/") {
            body = root
        } else if path.equals("/_license") {
            body = "{\(license)}"
        } else if path.equals("/_xpack") {
            body = "{\(license),\(features)}"
        } else if path.equals("/_cluster/health") {
            body = health
        } else if path.begins(with: "/_") {
            // Templates, policies and everything else that Elasticsearch keeps.
            body = nil
        } else {
            return nil
        }
        let media = ElasticMedia(head)
        let response = body.map { media.response(200, Array($0.utf8)) } ?? media.response(missing)
        return DevicePage(label: .elastic, response: response) { media.response($0) }
    }

    /// Clients refuse older nodes; this is the last version of its major release.
    private static let version = "8.19.0"

    private static let missing = Refusal(
        404,
        "PathNotExist",
        "no such thing here: only _bulk and single documents are taken; turn the setup of templates, policies and pipelines off"
    )

    /// Older clients recognise Elasticsearch by the tagline.
    private static let root = """
        {"name":"sluice","cluster_name":"sluice","cluster_uuid":"sluice","version":{\
        "number":"\(version)","build_flavor":"default","build_type":"deb",\
        "lucene_version":"9.12.2","minimum_wire_compatibility_version":"7.17.0",\
        "minimum_index_compatibility_version":"7.0.0"},"tagline":"You Know, for Search"}
        """
    private static let license = """
        "license":{"status":"active","uid":"00000000-0000-0000-0000-000000000000",\
        "type":"basic","mode":"basic"}
        """
    private static let features = """
        "features":{"ilm":{"available":false,"enabled":false},\
        "security":{"available":false,"enabled":false},\
        "monitoring":{"available":false,"enabled":false}}
        """
    private static let health = """
        {"cluster_name":"sluice","status":"green","timed_out":false,"number_of_nodes":1,\
        "number_of_data_nodes":1,"active_shards":0}
        """
}
