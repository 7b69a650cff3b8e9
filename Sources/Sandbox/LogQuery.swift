import HTTP
import JSON
import SQLite
import System

struct LogQuery: Equatable, Sendable {
    var project: String?
    var logstore: String?
    var topic: String?
    /// Text that a key, a value, a tag, the topic or the source must contain.
    var contains: String?
    /// The cursor after which the search starts.
    var after: Int64 = 0
    var limit = 1000
    var newest = false
    /// Includes facts that SLS does not show.
    var details = false

    /// The SQL condition for logs in a range of numbers, and its values in order.
    func condition(within slice: ClosedRange<Int64>) -> (sql: String, values: [String]) {
        var terms = ["log.id BETWEEN \(slice.lowerBound) AND \(slice.upperBound)"]
        var values: [String] = []
        for (column, value) in [("project", project), ("logstore", logstore), ("topic", topic)] {
            guard let value else { continue }
            terms.append("request.\(column) = ?")
            values.append(value)
        }
        if let contains {
            // Fields and tags are stored as JSON, so the search text is escaped the same way.
            let inside = String(jsonQuoted(contains).dropFirst().dropLast())
            terms.append(
                "(instr(fields, ?) OR instr(tags, ?) OR instr(topic, ?) OR instr(source, ?))"
            )
            values += [inside, inside, contains, contains]
        }
        return (terms.joined(separator: " AND "), values)
    }
}

extension LogQuery {
    private static let known = [
        "project", "logstore", "topic", "contains", "after", "limit", "order", "details", "wait_s",
        "min", "refresh",
    ]

    /// Parses the query of `GET /logs`. A misspelt filter must not return everything: refused.
    init(_ request: ReceivedRequest) throws(SLSRefusal) {
        if let unknown = request.query.first(where: { !Self.known.contains($0.key) }) {
            throw .badParameter(
                "The parameter \(unknown.key) is unknown; known are: "
                    + Self.known.joined(separator: ", ") + "."
            )
        }
        project = request.filter("project")
        logstore = request.filter("logstore")
        topic = request.parameter("topic")
        contains = request.filter("contains")
        after = Int64(try request.whole("after", in: 0...Int.max) ?? 0)
        limit = try request.whole("limit", in: 1...100_000) ?? 1000
        details = try request.whole("details", in: 0...1) == 1
        switch request.parameter("order") {
        case nil, "oldest": newest = false
        case "newest": newest = true
        default: throw .badParameter("order must be oldest or newest.")
        }
    }
}

extension ReceivedRequest {
    /// The parameter's value; an empty one counts as absent, because forms send empty fields.
    fileprivate func filter(_ name: String) -> String? {
        parameter(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    func whole(_ name: String, in range: ClosedRange<Int>) throws(SLSRefusal) -> Int? {
        guard let text = filter(name) else { return nil }
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(text),
            range.contains(number)
        else {
            throw .badParameter(
                "\(name) is \(text), \(range.lowerBound) to \(range.upperBound) is allowed."
            )
        }
        return number
    }
}

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

    /// Searches slice by slice while the body returns true; others use the archive in between.
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
            throw .internalError("The sandbox cannot read: \(error)")
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
            throw .internalError("The sandbox cannot clear: \(error)")
        }
    }
}
