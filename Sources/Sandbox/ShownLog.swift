import JSON
import SQLite
import System

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
