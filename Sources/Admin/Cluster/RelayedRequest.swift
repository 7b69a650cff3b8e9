import Configuration
import Crypto
import HTTP
import JSON
import Net
import Queue
import System

/// Who asks for a change, as the audit log names it.
struct Operator: Equatable, Sendable {
    let name: String
    let address: String

    func entry(_ action: String, _ subject: String, after: String = "") -> AuditEntry {
        AuditEntry(
            actor: name,
            address: address,
            action: action,
            subject: subject,
            before: "",
            after: after
        )
    }
}

extension Operator {
    init(_ holder: AdminHolder?, at peer: PeerAddress) {
        self.init(name: holder?.name(at: peer) ?? "", address: peer.host)
    }
}

/// A request that another gateway relays after it has checked token and query. The answer is that
/// of this gateway alone.
struct RelayedRequest: Equatable, Sendable {
    let method: RequestHead.Method
    /// Path and query.
    let target: String
    let actor: Operator
    var body: [UInt8] = []

    var isChange: Bool { method != .get }
}

extension RelayedRequest {
    init(_ head: RequestHead, _ actor: Operator, body: [UInt8] = []) {
        self.init(
            // The answer loses its body on the way to the client.
            method: head.method == .head ? .get : head.method,
            target: head.pathText + (head.queryText.map { "?\($0)" } ?? ""),
            actor: actor,
            body: body
        )
    }

    /// nil: a gateway of another version asked for something else.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 2),
            let method = json["method"]?.text.flatMap(RequestHead.Method.init(relayed:)),
            let target = json["target"]?.text, let actor = json["actor"]?.text,
            let body = json["body"]?.text.flatMap({ base64Decoded(Array($0.utf8)[...], .standard) })
        else { return nil }
        let address = json["address"]?.text ?? ""
        self.init(
            method: method,
            target: target,
            actor: Operator(name: actor, address: address),
            body: body
        )
    }

    var bytes: [UInt8] {
        JSONWriter { json in
            json.member("method", method.name)
            json.member("target", target)
            json.member("actor", actor.name)
            json.member("address", actor.address)
            json.member("body", Digest.base64(body))
        }.bytes
    }

    /// Letters of the shard that `after` names; without it the sums of all.
    static func letters(
        _ path: String,
        matching filter: DeadLetterFilter = DeadLetterFilter(),
        after: LetterName? = nil,
        limit: Int = 1
    ) -> RelayedRequest {
        let members = [
            ("destination", filter.destination), ("logstore", filter.logstore),
            ("code", filter.code), ("after", after?.description), ("limit", "\(limit)"),
        ]
        let query = members.compactMap { name, value in
            value.map { "\(name)=\(percentEncoded($0))" }
        }
        return RelayedRequest(
            method: .get,
            target: "\(path)?" + query.joined(separator: "&"),
            actor: Operator(name: "", address: "")
        )
    }

    /// The same request for these dead letters.
    func selecting(_ ids: [LetterName]) -> RelayedRequest {
        let path = target.prefix { $0 != "?" }
        let query = "?ids=" + ids.map(\.description).joined(separator: ",")
        return RelayedRequest(
            method: method,
            target: path + query,
            actor: actor,
            body: body
        )
    }

    var head: RequestHead {
        let begin = "\(method.name) "
        let bytes = Array("\(begin)\(target) HTTP/1.1\r\n\r\n".utf8)
        let start = begin.utf8.count
        let end = start + target.utf8.count
        let mark = bytes[start..<end].firstIndex(of: UInt8(ascii: "?"))
        return RequestHead(
            bytes: bytes,
            method: method,
            path: start..<(mark ?? end),
            query: mark.map { $0 + 1..<end },
            fields: [],
            minorVersion: 1,
            peer: PeerAddress(host: actor.address, port: 0)
        )
    }
}

extension RequestHead.Method {
    fileprivate init?(relayed name: String) {
        guard let method = [Self.get, .post, .put].first(where: { $0.name == name }) else {
            return nil
        }
        self = method
    }
}

enum ClusterAnswer {
    /// What an answer with letters may have, but for its last one, and what a letter may have.
    static let bytesMax = 4 << 20

    static func bytes(of response: Response) -> [UInt8] {
        JSONWriter { json in
            json.member("status", response.status)
            json.member("type", response.contentType)
            json.member("next", response["x-sluice-next"])
            json.member("body", String(decoding: response.body, as: UTF8.self))
        }.bytes
    }

    static func response(_ bytes: [UInt8]) -> Response? {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 2),
            let status = json["status"]?.wholeNumber, let body = json["body"]?.text
        else { return nil }
        let type = json["type"]?.text ?? "application/json"
        var response = Response(status: status, contentType: type, text: body)
        response.continues(at: json["next"]?.text)
        return response
    }

    static func response(with sums: [DeadLetterSum]) -> Response {
        var json = JSONWriter()
        json.array { json in
            for sum in sums {
                json.array { json in
                    json.element(sum.destination)
                    json.element(sum.code)
                    json.element(sum.letters)
                    json.element(sum.bytes)
                    json.element(sum.latest.milliseconds)
                }
            }
        }
        return Response(json: json.text)
    }

    /// nil: something else was answered.
    static func sums(_ response: Response) -> [DeadLetterSum]? {
        let document = try? JSONValue(parsing: response.body, depthMax: 3)
        guard response.status == 200, let rows = document?.elements else { return nil }
        return rows.compactMap { row in
            guard let row = row.elements, row.count == 5, let destination = row[0].text,
                let code = row[1].text, let letters = row[2].wholeNumber,
                let bytes = row[3].wholeNumber, let latest = row[4].wholeNumber
            else { return nil }
            return DeadLetterSum(
                destination: destination,
                code: code,
                letters: letters,
                bytes: bytes,
                latest: WallTime(nanoseconds: Int64(latest) &* 1_000_000)
            )
        }
    }
}
