import JSON
import SQLite
import System

/// Logs that were found, one JSON object a line.
struct LogLines: Sendable {
    /// The size at which an answer is cut.
    fileprivate static let bytesMax = 32 * 1024 * 1024

    var json = JSONWriter()
    var count = 0
    /// The cursor after the last of them.
    var cursor: Int64
    /// More logs may follow the cursor.
    var isCut = false
}

extension LogArchive {
    /// Slices of log numbers, so that a search through a million logs lets writers in between.
    func slices(_ query: LogQuery) -> [ClosedRange<Int64>] {
        // A cursor may have any value, even beyond the last log.
        let first = max(min(query.after, lastLog), lastLog - Int64(size.logs)) + 1
        let starts = stride(from: first, through: lastLog, by: Self.sliceLogs)
        let slices = starts.map { $0...min($0 + Int64(Self.sliceLogs) - 1, lastLog) }
        return query.newest ? slices.reversed() : slices
    }

    private static var sliceLogs: Int { 10_000 }

    func collect(
        _ query: LogQuery,
        within slice: ClosedRange<Int64>,
        into lines: inout LogLines
    ) throws(SQLiteError) {
        let statement = try matching(
            query,
            within: slice,
            "log.id, log.place, log.time, log.ns, log.fields, request.topic, request.source, "
                + "request.tags, request.project, request.logstore, request.request_id, "
                + "request.received"
        )
        while try statement.step() {
            guard lines.count < query.limit, lines.json.bytes.count < LogLines.bytesMax else {
                lines.isCut = true
                break
            }
            append(statement, to: &lines.json, details: query.details)
            lines.count += 1
            lines.cursor = max(lines.cursor, statement.integer(0))
        }
        statement.reset()
    }

    func count(_ query: LogQuery, within slice: ClosedRange<Int64>) throws(SQLiteError) -> Int {
        let statement = try matching(query, within: slice, "1")
        var found = 0
        while try statement.step() { found += 1 }
        return found
    }

    func matching(
        _ query: LogQuery,
        within slice: ClosedRange<Int64>,
        _ columns: String
    ) throws(SQLiteError) -> Statement {
        let (condition, values) = query.condition(within: slice)
        // CROSS JOIN keeps the tables' order, so rows come in the order of the logs.
        let statement = try database.prepare(
            "SELECT \(columns) FROM log CROSS JOIN request ON request.id = log.request "
                + "WHERE \(condition) ORDER BY log.id \(query.newest ? "DESC" : "")"
        )
        for (index, value) in values.enumerated() { statement.bind(CInt(index + 1), value) }
        return statement
    }

    private func append(_ row: Statement, to json: inout JSONWriter, details: Bool) {
        json.object { json in
            json.member("__time__", "\(row.integer(2))")
            if let nanoseconds = row.optionalInteger(3) {
                json.member("__time_ns_part__", "\(nanoseconds)")
            }
            json.member("__topic__", utf8: row.borrowedText(5))
            json.member("__source__", utf8: row.borrowedText(6))
            json.members(written: row.borrowedText(7))
            if details { appendDetails(row, to: &json) }
            // The fields are an object, whose members are copied into this one.
            let fields = row.borrowedText(4).dropFirst().dropLast()
            json.members(written: UnsafeRawBufferPointer(rebasing: fields))
        }
        json.endLine()
    }

    private func appendDetails(_ row: Statement, to json: inout JSONWriter) {
        json.member("__cursor__", "\(row.integer(0))")
        json.member("__pack_index__", "\(row.integer(1))")
        json.member("__project__", utf8: row.borrowedText(8))
        json.member("__logstore__", utf8: row.borrowedText(9))
        json.member("__request_id__", utf8: row.borrowedText(10))
        json.member("__received__", WallTime(nanoseconds: row.integer(11)).rfc3339)
    }
}

/// One log as the page shows it.
struct ShownLog: Sendable {
    let time: WallTime
    let project: String
    let logstore: String
    let topic: String
    let source: String
    /// Fields, then tags, each in their original order.
    let members: [(name: String, value: String)]
}

extension LogArchive {
    /// Adds matching logs, newest first, up to the limit.
    func collect(
        _ query: LogQuery,
        within slice: ClosedRange<Int64>,
        into logs: inout [ShownLog]
    ) throws(SQLiteError) {
        let statement = try matching(
            query,
            within: slice,
            "log.time, log.ns, request.project, request.logstore, request.topic, "
                + "request.source, log.fields, request.tags"
        )
        while logs.count < query.limit, try statement.step() {
            let nanoseconds = statement.integer(0) * 1_000_000_000 + statement.integer(1)
            logs.append(
                ShownLog(
                    time: WallTime(nanoseconds: nanoseconds),
                    project: statement.text(2),
                    logstore: statement.text(3),
                    topic: statement.text(4),
                    source: statement.text(5),
                    members: Self.members(of: statement.text(6))
                        + Self.members(of: "{" + statement.text(7) + "}")
                )
            )
        }
        statement.reset()
    }

    private static func members(of json: String) -> [(name: String, value: String)] {
        guard
            case .object(let members)? = try? JSONValue(parsing: Array(json.utf8))
        else { return [] }
        return members.compactMap { member in
            guard case .string(let value) = member.value else { return nil }
            return (member.name, value)
        }
    }
}
