import HTTP
import JSON
import SQLite
import System

extension Sandbox {
    func logs(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        let query = try LogQuery(request)
        let wait = try request.whole("wait_s", in: 0...60) ?? 0
        let least = try request.whole("min", in: 1...1_000_000) ?? 1
        guard wait > 0 else { return try lines(query) }
        // The logs are read when the wait ends.
        return Answer(
            response: Response(status: 200),
            delivery: .whenStored(LogWait(count: least, query: query), within: .seconds(wait))
        )
    }

    /// The matching logs, and the cursor for the next request.
    func lines(_ query: LogQuery) throws(SLSRefusal) -> Answer {
        var lines = LogLines(cursor: query.after)
        try look(query) { archive, slice throws(SQLiteError) in
            try archive.collect(query, within: slice, into: &lines)
            return !lines.isCut
        }
        var answer = Answer.text("application/x-ndjson", lines.json.bytes)
        answer.response.fields.append(("x-sandbox-count", "\(lines.count)"))
        answer.response.fields.append(("x-sandbox-cursor", "\(lines.cursor)"))
        answer.response.fields.append(("x-sandbox-more", lines.isCut ? "true" : "false"))
        return answer
    }

    /// Searches the logs slice by slice while the body returns true; other threads may use the
    /// archive between slices.
    func look(
        _ query: LogQuery,
        _ body: (borrowing LogArchive, ClosedRange<Int64>) throws(SQLiteError) -> Bool
    ) throws(SLSRefusal) {
        do throws(SQLiteError) {
            for slice in state.withLock({ $0.archive.slices(query) }) {
                let goesOn = try state.withLock { state throws(SQLiteError) in
                    try body(state.archive, slice)
                }
                guard goesOn else { return }
            }
        } catch {
            throw SLSRefusal(500, "InternalServerError", "The sandbox cannot read: \(error)")
        }
    }

    func clearLogs() throws(SLSRefusal) -> Answer {
        do throws(SQLiteError) {
            let now = configuration.clock()
            let cleared = try state.withLock { state throws(SQLiteError) in
                let logs = state.archive.size.logs
                try state.archive.clear()
                state.statistics = Statistics(since: now)
                state.hasToldOfDrops = false
                return logs
            }
            return .json { $0.member("cleared", cleared) }
        } catch {
            throw SLSRefusal(500, "InternalServerError", "The sandbox cannot clear: \(error)")
        }
    }
}
