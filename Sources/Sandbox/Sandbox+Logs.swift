import HTTP
import System

extension Sandbox {
    func logs(_ request: ReceivedRequest) throws(Refusal) -> Answer {
        let query = try LogQuery(request)
        let wait = try request.whole("wait_s", in: 0...60) ?? 0
        let least = try request.whole("min", in: 1...1_000_000) ?? 1
        guard wait > 0, try !has(least, query) else { return try lines(query) }
        // What is found is read when the time has come.
        return Answer(
            response: Response(status: 200),
            delivery: .whenStored(least, query, within: .seconds(wait))
        )
    }

    func has(_ count: Int, _ query: LogQuery) throws(Refusal) -> Bool {
        try reading { archive throws(DatabaseError) in try archive.has(count, query) }
    }

    func lines(_ query: LogQuery) throws(Refusal) -> Answer {
        let lines = try reading { archive throws(DatabaseError) in try archive.lines(query) }
        var answer = Answer.text("application/x-ndjson", lines.text.bytes)
        answer.response.fields.append(("x-sandbox-count", "\(lines.count)"))
        answer.response.fields.append(("x-sandbox-cursor", "\(lines.cursor)"))
        answer.response.fields.append(("x-sandbox-more", lines.isCut ? "true" : "false"))
        return answer
    }

    func reading<Result: Sendable>(
        _ body: (borrowing LogArchive) throws(DatabaseError) -> Result
    ) throws(Refusal) -> Result {
        do throws(DatabaseError) {
            return try state.withLock { state throws(DatabaseError) in try body(state.archive) }
        } catch {
            throw Refusal(500, "InternalServerError", "The sandbox cannot read: \(error)")
        }
    }

    func clearLogs() throws(Refusal) -> Answer {
        do throws(DatabaseError) {
            let now = configuration.clock()
            let cleared = try state.withLock { state throws(DatabaseError) in
                let logs = state.archive.size.logs
                try state.archive.clear()
                state.statistics = Statistics(since: now)
                state.hasToldOfDrops = false
                return logs
            }
            var object = JSONObject()
            object.add("cleared", cleared)
            return .json(object.finished)
        } catch {
            throw Refusal(500, "InternalServerError", "The sandbox cannot clear: \(error)")
        }
    }
}
