import HTTP
import JSON
import Queue
import System

extension AdminCall {
    /// `GET /admin/audit`: the newest changes first, in pages.
    func changes() throws(HTTPProblem) -> Response? {
        // The header for the next page is that of the other lists.
        let after = try head.number("after", 1...Int.max)
        let before = try head.number("before", 1...Int.max) ?? after
        let limit = try head.number("limit", 1...1000) ?? 100
        shared.store.audit(before: before.map { Int64($0) }, limit: limit) { result in
            respond { () throws(HTTPProblem) in
                let records = try reading { () throws(QueueError) in try result.get() }
                var response = answer(text: records.map(\.line).joined()) { json in
                    json.objects("changes", records) { $0.change($1) }
                }
                response.continues(at: records.count == limit ? records.last?.id : nil)
                return response
            }
        }
        return nil
    }
}

extension JSONWriter {
    fileprivate mutating func change(_ record: AuditRecord) {
        member("id", record.id)
        member("time", record.time.rfc3339)
        member("actor", record.entry.actor)
        member("address", record.entry.address)
        member("action", record.entry.action)
        member("subject", record.entry.subject)
        member("before", record.entry.before)
        member("after", record.entry.after)
        if let node = record.node { member("node", node) }
    }
}

extension AuditRecord {
    /// "2026-11-21T17:20:00.000Z  admin@127.0.0.1  rotate credential default: LTAI…9f2c -> LTAI…77aa"
    fileprivate var line: String {
        let change =
            entry.before.isEmpty && entry.after.isEmpty
            ? "" : ": \(entry.before.isEmpty ? "-" : entry.before) -> \(entry.after)"
        let place = node.map { "  on \($0)" } ?? ""
        return
            "\(time.rfc3339)  \(entry.actor)@\(entry.address)\(place)  \(entry.action) \(entry.subject)"
            + "\(change)\n"
    }
}
