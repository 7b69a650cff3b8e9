import Configuration
import Crypto
import HTTP
import JSON
import Net
import Queue
import System

/// What one gateway asks another one for an operator.
enum ClusterQuestion: Equatable {
    /// Dead letters of a shard, as the lines of an export or with the beginnings of long logs.
    case letters(LetterName, DeadLetterFilter, limit: Int, isWhole: Bool)
    case sums
    /// A request that an operator may make, and the answer of the gateway alone.
    case request(RelayedRequest)

    var isChange: Bool {
        if case .request(let request) = self { request.method != .get } else { false }
    }

    var bytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            switch self {
            case .letters(let after, let filter, let limit, let isWhole):
                json.member("letters_after", after.description)
                json.member("destination", filter.destination)
                json.member("logstore", filter.logstore)
                json.member("code", filter.code)
                json.member("limit", limit)
                json.member("whole", isWhole)
            case .sums: json.member("sums", true)
            case .request(let request):
                json.member("method", request.method.name)
                json.member("target", request.target)
                json.member("actor", request.actor.name)
                json.member("address", request.actor.address)
                json.member("body", Digest.base64(request.body))
            }
        }
        return json.bytes
    }

    /// nil: a gateway of another version asked for something else.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 2) else { return nil }
        if let after = json["letters_after"]?.text.flatMap({ LetterName($0) }),
            let limit = json["limit"]?.wholeNumber
        {
            let filter = DeadLetterFilter(
                destination: json["destination"]?.text,
                logstore: json["logstore"]?.text,
                code: json["code"]?.text
            )
            // Other versions do not say it, and may export.
            let isWhole = json["whole"] != .bool(false)
            self = .letters(after, filter, limit: max(1, min(limit, 1000)), isWhole: isWhole)
        } else if json["sums"] == .bool(true) {
            self = .sums
        } else if let method = json["method"]?.text.flatMap(RequestHead.Method.init(relayed:)),
            let target = json["target"]?.text, let actor = json["actor"]?.text,
            let body = json["body"]?.text.flatMap({ base64Decoded(Array($0.utf8)[...], .standard) })
        {
            self = .request(
                RelayedRequest(
                    method: method,
                    target: target,
                    actor: Operator(name: actor, address: json["address"]?.text ?? ""),
                    body: body
                )
            )
        } else {
            return nil
        }
    }
}

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

/// A request that another gateway relays after it has checked token and query.
struct RelayedRequest: Equatable, Sendable {
    let method: RequestHead.Method
    /// Path and query.
    let target: String
    let actor: Operator
    var body: [UInt8] = []
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
    /// Rendered letters, and where the next ones of the shard begin; nil: there are none.
    struct Letters: Equatable {
        /// What an answer may have, but for its last row, and what a row may have.
        static let bytesMax = 4 << 20

        var rows: [String] = []
        var next: Int64?
    }

    static func bytes(of response: Response) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("status", response.status)
            json.member("type", response.fields.first { $0.name == "content-type" }?.value)
            json.member("body", String(decoding: response.body, as: UTF8.self))
        }
        return json.bytes
    }

    static func response(_ bytes: [UInt8]) -> Response? {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 2),
            let status = json["status"]?.wholeNumber, let body = json["body"]?.text
        else { return nil }
        let type = json["type"]?.text ?? "application/json"
        return Response(status: status, contentType: type, text: body)
    }

    static func bytes(of letters: Letters) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.array("rows") { json in letters.rows.forEach { json.element($0) } }
            json.member("next", number: letters.next.map { "\"\($0)\"" })
        }
        return json.bytes
    }

    static func letters(_ bytes: [UInt8]) -> Letters? {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 3),
            let rows = json["rows"]?.elements
        else { return nil }
        return Letters(
            rows: rows.compactMap(\.text),
            next: json["next"]?.text.flatMap { Int64($0) }
        )
    }

    static func bytes(of sums: [DeadLetterSum]) -> [UInt8] {
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
        return json.bytes
    }

    static func sums(_ bytes: [UInt8]) -> [DeadLetterSum]? {
        guard let rows = (try? JSONValue(parsing: bytes, depthMax: 3))?.elements else { return nil }
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
