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
        shared.store.decisions.audit(before: before.map { Int64($0) }, limit: limit) { result in
            respond { () throws(HTTPProblem) in
                let records = try reading { () throws(QueueError) in try result.get() }
                var response = Response.json { json in
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
