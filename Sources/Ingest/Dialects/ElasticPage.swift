import HTTP
import JSON

/// The pages that Elasticsearch's clients check before they send: a node that accepts documents and
/// has nothing else.
struct ElasticPage {
    private enum Kind {
        case root
        case license
        case features
        case health
        /// Templates, policies and everything else that Elasticsearch keeps.
        case missing
    }

    /// Clients refuse older nodes; this is the last version of its major release.
    private static let version = "8.19.0"

    private let kind: Kind
    private let media: ElasticMedia

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: borrowing RequestHead) {
        if path.equals("/") {
            kind = .root
        } else if path.equals("/_license") {
            kind = .license
        } else if path.equals("/_xpack") {
            kind = .features
        } else if path.equals("/_cluster/health") {
            kind = .health
        } else if path.begins(with: "/_") {
            kind = .missing
        } else {
            return nil
        }
        media = ElasticMedia(head)
    }

    var response: Response {
        guard kind != .missing else { return refused(Self.missing) }
        var json = JSONWriter()
        json.object { json in
            switch kind {
            case .root: Self.root(&json)
            case .license: json.object("license") { Self.license(&$0) }
            case .features:
                json.object("license") { Self.license(&$0) }
                json.object("features") { json in
                    for name in ["ilm", "security", "monitoring"] {
                        json.object(name) { json in
                            json.member("available", false)
                            json.member("enabled", false)
                        }
                    }
                }
            case .health: Self.health(&json)
            case .missing: break
            }
        }
        return media.response(200, json.bytes)
    }

    func refused(_ refusal: Refusal) -> Response { media.response(refusal) }

    private static let missing = Refusal(
        404,
        "PathNotExist",
        "no such thing here: only _bulk and single documents are taken; turn the setup of templates, policies and pipelines off"
    )

    private static func root(_ json: inout JSONWriter) {
        json.member("name", "sluice")
        json.member("cluster_name", "sluice")
        json.member("cluster_uuid", "sluice")
        json.object("version") { json in
            json.member("number", version)
            json.member("build_flavor", "default")
            json.member("build_type", "deb")
            json.member("lucene_version", "9.12.2")
            json.member("minimum_wire_compatibility_version", "7.17.0")
            json.member("minimum_index_compatibility_version", "7.0.0")
        }
        // Older clients recognise Elasticsearch by this.
        json.member("tagline", "You Know, for Search")
    }

    private static func license(_ json: inout JSONWriter) {
        json.member("status", "active")
        json.member("uid", "00000000-0000-0000-0000-000000000000")
        json.member("type", "basic")
        json.member("mode", "basic")
    }

    private static func health(_ json: inout JSONWriter) {
        json.member("cluster_name", "sluice")
        json.member("status", "green")
        json.member("timed_out", false)
        json.member("number_of_nodes", 1)
        json.member("number_of_data_nodes", 1)
        json.member("active_shards", 0)
    }
}
