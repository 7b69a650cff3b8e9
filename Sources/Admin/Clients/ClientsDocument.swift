import Configuration
import HTTP
import Ingest
import JSON
import Operations
import System

/// `GET /admin/clients` and `GET /admin/refusals`: who sends, and who was refused.
struct ClientsDocument {
    let reporter: Reporter
    let refused: RefusedRequests

    func clients(_ wantsText: Bool) -> Response {
        let senders = reporter.report.senders
        let rules = Dictionary(
            reporter.configuration.devices.senders.map { ($0.name, $0.rules) },
            uniquingKeysWith: { first, _ in first }
        )
        let latest = Dictionary(
            refused.newest.compactMap { request in request.key.map { ($0, request) } },
            uniquingKeysWith: { newest, _ in newest }
        )
        guard !wantsText else {
            let lines = senders.keys.map { key in
                let refused = key.refused.named.reduce(0) { $0 + $1.1 }
                let last = latest[key.name].map { "; last: \($0.code): \($0.reason)" } ?? ""
                return "\(key.name): \(counted(Int64(key.taken[.requests]), "request")), "
                    + "\(counted(Int64(key.taken[.logs]), "log")), \(sizeText(key.taken[.bodyBytes])), "
                    + "\(refused) refused\(last)\n"
            }
            let none = "no keys are configured (devices.keys): every device may send\n"
            return Response(text: lines.isEmpty ? none : lines.joined())
        }
        var json = JSONWriter()
        json.object { json in
            json.array("keys") { json in
                for key in senders.keys {
                    let rules = rules[key.name]
                    json.object { json in
                        json.member("name", key.name)
                        json.member("destinations", rules?.destinations?.sorted())
                        json.member("requests", key.taken[.requests])
                        json.member("logs", key.taken[.logs])
                        json.member("bytes", key.taken[.bodyBytes])
                        json.object("refused") { json in
                            for (reason, count) in key.refused.named { json.member(reason, count) }
                        }
                        json.object("budget") { json in
                            json.member("rate", rules?.rate?.text)
                            json.member("bytes", rules?.bytes?.text)
                        }
                        json.nullable("last_refusal", latest[key.name]) { $0.refusal($1) }
                    }
                }
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
        return Response(json: json.text + "\n")
    }

    func refusals(_ wantsText: Bool) -> Response {
        let newest = refused.newest
        guard !wantsText else {
            let lines = newest.map(\.line).joined()
            return Response(
                text: lines.isEmpty ? "no request was refused since the start\n" : lines
            )
        }
        var json = JSONWriter()
        json.object { json in
            json.member("missed", refused.missed)
            json.array("refusals") { json in
                for request in newest { json.object { $0.refusal(request) } }
            }
        }
        return Response(json: json.text + "\n")
    }
}

extension RefusedRequest {
    /// "2026-11-21T17:20:00.000Z  403 Unauthorized  POST /logs/app from 192.0.2.1 (key ios): the reason"
    fileprivate var line: String {
        let key = key.map { " (key \($0))" } ?? ""
        let request = method.isEmpty ? "unreadable request" : "\(method) \(path)"
        return "\(time.rfc3339)  \(status) \(code)  \(request) from \(address)\(key): \(reason)\n"
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
        array(name) { json in for value in values { json.element(value) } }
    }

    /// An object, or null.
    mutating func nullable<Value>(
        _ name: String,
        _ value: Value?,
        _ members: (inout JSONWriter, Value) -> Void
    ) {
        guard let value else { return member(name, nil as String?) }
        object(name) { members(&$0, value) }
    }
}
