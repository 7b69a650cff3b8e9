import System

/// Logs as they were found, one JSON object a line.
struct LogLines: Sendable {
    var text = JSONText()
    var count = 0
    /// The cursor behind the last of them.
    var cursor: Int64 = 0
    /// There may be more behind the cursor.
    var isCut = false
}

extension LogArchive {
    /// Ends an answer before its time when it grows beyond this.
    private static let answerBytesMax = 32 * 1024 * 1024

    /// The logs that match, as SLS shows them.
    func lines(_ query: LogQuery) throws(DatabaseError) -> LogLines {
        let statement = try matching(
            query,
            "log.id, log.place, log.time, log.ns, log.fields, request.topic, request.source, "
                + "request.tags, request.project, request.logstore, request.request_id, "
                + "request.received",
            limit: query.limit + 1
        )
        var lines = LogLines()
        lines.cursor = query.after
        while try statement.step() {
            guard lines.count < query.limit, lines.text.bytes.count < Self.answerBytesMax else {
                lines.isCut = true
                break
            }
            append(statement, to: &lines.text, details: query.details)
            lines.count += 1
            lines.cursor = max(lines.cursor, statement.integer(0))
        }
        statement.reset()
        return lines
    }

    /// Whether so many logs match.
    func has(_ count: Int, _ query: LogQuery) throws(DatabaseError) -> Bool {
        guard count <= size.logs else { return false }
        let statement = try matching(query, "1", limit: count)
        var found = 0
        while try statement.step() { found += 1 }
        return found >= count
    }

    func matching(
        _ query: LogQuery,
        _ columns: String,
        limit: Int
    ) throws(DatabaseError) -> Statement {
        let (condition, values) = query.condition
        // CROSS JOIN keeps the order of the tables, so that rows come in the order of the logs.
        let statement = try database.prepare(
            "SELECT \(columns) FROM log CROSS JOIN request ON request.id = log.request "
                + "WHERE \(condition) ORDER BY log.id \(query.newest ? "DESC" : "") LIMIT \(limit)"
        )
        for (index, value) in values.enumerated() { statement.bind(Int32(index), value) }
        return statement
    }

    private func append(_ row: Statement, to text: inout JSONText, details: Bool) {
        text.append("{\"__time__\":\"")
        text.append("\(row.integer(2))".utf8)
        if let nanoseconds = row.optionalInteger(3) {
            text.append("\",\"__time_ns_part__\":\"")
            text.append("\(nanoseconds)".utf8)
        }
        text.append("\",\"__topic__\":")
        text.append(quoting: row.bytes(5))
        text.append(",\"__source__\":")
        text.append(quoting: row.bytes(6))
        let tags = row.bytes(7)
        if !tags.isEmpty {
            text.append(",")
            text.append(tags)
        }
        if details { appendDetails(row, to: &text) }
        // The fields are an object: its members go into this one.
        let members = row.bytes(4).dropFirst()
        if members.count > 1 { text.append(",") }
        text.append(members)
        text.append("\n")
    }

    private func appendDetails(_ row: Statement, to text: inout JSONText) {
        text.append(",\"__cursor__\":\"")
        text.append("\(row.integer(0))".utf8)
        text.append("\",\"__pack_index__\":\"")
        text.append("\(row.integer(1))".utf8)
        text.append("\",\"__project__\":")
        text.append(quoting: row.bytes(8))
        text.append(",\"__logstore__\":")
        text.append(quoting: row.bytes(9))
        text.append(",\"__request_id__\":")
        text.append(quoting: row.bytes(10))
        text.append(",\"__received__\":")
        text.append(quoting: WallTime(nanoseconds: row.integer(11)).rfc3339)
    }
}
