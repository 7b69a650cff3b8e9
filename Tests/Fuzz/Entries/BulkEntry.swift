import JSON
import Logs

@testable import Ingest
@testable import Sandbox

/// Elasticsearch's `_bulk`, and the answer to it.
enum BulkEntry: FuzzEntry {
    static let name = "bulk"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.apart, Fixed.mending] {
            let read = try readTwice(body) { body throws(LogDecodingError) in
                try decoder.decodeBulk(LogBody(body, Fixed.timing, rules), index: "i")
            }
            switch read {
            case .failure(let fault): try fault.isInside(body)
            case .success(let logs): try keepsPromises(logs, body)
            }
        }
    }

    private static func keepsPromises(_ logs: BulkLogs, _ body: [UInt8]) throws(Contradiction) {
        for part in logs.parts { try ReadGroup(part.logs).keepsPromises() }
        let taken = logs.items.items.count { $0.outcome == .taken }
        let count = logs.parts.reduce(0) { $0 + $1.logs.count }
        try check(taken == count, "\(taken) actions were taken, and \(count) are logs")
        for item in logs.items.items {
            guard case .unreadable(let number) = item.outcome else { continue }
            try logs.items.fault(number).isInside(body)
        }
        let indices = logs.parts.map { ElasticIndex(name: $0.index, refusal: nil) }
        let bulk = BulkAnswer(items: logs.items, indices: indices, parts: .all)
        let answer = bulk.body(atMost: .max) ?? []
        guard case .object(let members)? = SandboxReading.json(answer),
            case .array(let items)? = members.first(where: { $0.name == "items" })?.value
        else {
            let text = String(decoding: answer, as: UTF8.self)
            throw Contradiction(description: "the answer is no JSON: \(text)")
        }
        try check(items.count == logs.items.count, "the answer tells of other actions")
    }
}
