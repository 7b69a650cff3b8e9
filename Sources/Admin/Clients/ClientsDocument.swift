import Configuration
import HTTP
import Ingest
import JSON
import Operations
import System

extension AdminCall {
    private var refused: RefusedRequests { shared.devices.refusedRequests }

    func clients() -> Response {
        let senders = shared.report.senders
        let rules = Dictionary(
            shared.reporter.configuration.devices.senders.map { ($0.name, $0.rules) },
            uniquingKeysWith: { first, _ in first }
        )
        let latest = Dictionary(
            refused.newest.compactMap { request in request.key.map { ($0, request) } },
            uniquingKeysWith: { newest, _ in newest }
        )
        return .json { json in
            json.objects("keys", senders.keys) { json, key in
                let rules = rules[key.name]
                json.member("name", key.name)
                json.member("destinations", rules?.destinations?.sorted())
                json.member("requests", key.taken[.requests])
                json.member("logs", key.taken[.logs])
                json.member("bytes", key.taken[.bodyBytes])
                json.object("refused") { json in
                    for (reason, count) in key.refused.named {
                        json.member(reason, count)
                    }
                }
                json.object("budget") { json in
                    json.member("rate", rules?.rate?.text)
                    json.member("bytes", rules?.bytes?.text)
                }
                json.object("last_refusal", ifAny: latest[key.name]) { $0.refusal($1) }
            }
            json.object("unknown_senders") { json in
                for (reason, count) in senders.unknown { json.member(reason, count) }
            }
            json.object("addresses") { json in
                json.member("known", senders.addresses[.addresses])
                json.member("max", senders.addressesMax)
                json.member("refused_rate", senders.addresses[.refusedRate])
                json.member("refused_bytes", senders.addresses[.refusedBytes])
                json.member("newcomers_shared", senders.addresses[.shared])
            }
        }
    }

    func refusals() -> Response {
        .json { json in
            json.member("missed", refused.missed)
            json.objects("refusals", refused.newest) { $0.refusal($1) }
        }
    }
}

extension Allowance {
    /// "200/s".
    fileprivate var text: String { "\(amount)/\(period.unit)" }
}

extension JSONWriter {
    fileprivate mutating func refusal(_ request: RefusedRequest) {
        member("id", request.id)
        member("time", request.time.rfc3339)
        member("method", request.method)
        member("path", request.path)
        member("query", request.query)
        member("address", request.address)
        member("key", request.key)
        member("status", request.status)
        member("code", request.code)
        member("message", request.reason)
        member("agent", request.agent)
        member("bytes", request.bytes)
    }

    /// An array, or null.
    fileprivate mutating func member(_ name: String, _ values: [String]?) {
        guard let values else { return member(name, nil as String?) }
        texts(name, values)
    }
}
