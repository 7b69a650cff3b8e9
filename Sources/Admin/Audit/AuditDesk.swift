import HTTP
import JSON
import Queue
import System

/// Answers `GET /admin/audit`: the newest changes first, in pages.
struct AuditDesk {
    let decisions: any Decisions

    func list(_ head: RequestHead, _ responder: Responder) {
        do throws(HTTPProblem) {
            let (before, limit) = try page(head)
            decisions.audit(before: before, limit: limit) { result in
                switch result {
                case .success(let records):
                    var response = Response(json: Self.document(records))
                    response.continues(at: records.count == limit ? records.last?.id : nil)
                    responder.send(response)
                case .failure(let problem):
                    let refusal = HTTPProblem(503, "ServerBusy", problem.description)
                    responder.send(refusal.response)
                }
            }
        } catch {
            responder.send(error.response)
        }
    }

    private func page(_ head: RequestHead) throws(HTTPProblem) -> (before: Int64?, limit: Int) {
        func problem(_ reason: String) -> HTTPProblem {
            HTTPProblem(400, "ParameterInvalid", reason)
        }
        guard let pairs = head.queryPairs else { throw problem("the query cannot be read") }
        var before: Int64?
        var limit = 100
        for (name, value) in pairs {
            let number = Int64(value).flatMap { $0 > 0 ? $0 : nil }
            switch name {
            case "before", "after":
                // The header for the next page is that of the other lists.
                guard let number else { throw problem("\(name) cannot be \(clipped(value))") }
                before = number
            case "limit":
                guard let number, number <= 1000 else {
                    throw problem("limit cannot be \(clipped(value)); it is 1 to 1000")
                }
                limit = Int(number)
            default:
                throw problem("\(clipped(name)) is not a parameter here; known: before, limit")
            }
        }
        return (before, limit)
    }

    private static func document(_ records: [AuditRecord]) -> String {
        var json = JSONWriter()
        json.object { json in
            json.array("changes") { json in
                for record in records {
                    json.object { json in
                        json.member("id", record.id)
                        json.member("time", record.time.rfc3339)
                        json.member("actor", record.entry.actor)
                        json.member("address", record.entry.address)
                        json.member("action", record.entry.action)
                        json.member("subject", record.entry.subject)
                        json.member("before", record.entry.before)
                        json.member("after", record.entry.after)
                        if let node = record.node { json.member("node", node) }
                    }
                }
            }
        }
        return json.text + "\n"
    }
}
