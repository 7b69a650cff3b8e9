import HTTP
import SQLite
import System

extension Sandbox {
    private static let logsShown = 100

    /// The page for people.
    func page(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        var query = try LogQuery(request)
        query.limit = Self.logsShown
        query.newest = true
        let wanted = query
        var logs: [ShownLog] = []
        try look(wanted) { archive, slice throws(SQLiteError) in
            try archive.collect(wanted, within: slice, into: &logs)
            return logs.count < wanted.limit
        }
        let page = state.withLock { state in
            LogsPage(
                address: request["host"] ?? "",
                query: query,
                logs: logs,
                statistics: state.statistics,
                size: state.archive.size,
                faults: state.faults.entries,
                rateLimits: state.rateLimits.entries.map(\.limit)
            )
        }
        let nonce = hex(randomBytes(16))
        let isPart = request["x-sandbox-part"] == "live"
        let html = isPart ? page.live : page.document(nonce: nonce)
        var answer = Answer.text("text/html; charset=utf-8", Array(html.text.utf8))
        answer.response.fields += [
            (
                "content-security-policy",
                "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; "
                    + "connect-src 'self'; form-action 'self'; base-uri 'none'; "
                    + "frame-ancestors 'none'"
            ), ("referrer-policy", "no-referrer"),
        ]
        return answer
    }
}
