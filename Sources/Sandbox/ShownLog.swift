import System

/// One log as the page shows it.
struct ShownLog: Sendable {
    let cursor: Int64
    let time: WallTime
    let project: String
    let logstore: String
    let topic: String
    let source: String
    /// Fields and then tags, in the order in which they came.
    let members: [(name: String, value: String)]
}

extension LogArchive {
    /// The newest logs that match, newest first.
    func newest(_ query: LogQuery) throws(DatabaseError) -> [ShownLog] {
        var query = query
        query.newest = true
        let statement = try matching(
            query,
            "log.id, log.time, log.ns, request.project, request.logstore, request.topic, "
                + "request.source, log.fields, request.tags",
            limit: query.limit
        )
        var logs: [ShownLog] = []
        while try statement.step() {
            let nanoseconds = statement.integer(1) * 1_000_000_000 + statement.integer(2)
            logs.append(
                ShownLog(
                    cursor: statement.integer(0),
                    time: WallTime(nanoseconds: nanoseconds),
                    project: statement.text(3),
                    logstore: statement.text(4),
                    topic: statement.text(5),
                    source: statement.text(6),
                    members: Self.members(of: statement.text(7))
                        + Self.members(of: "{" + statement.text(8) + "}")
                )
            )
        }
        return logs
    }

    private static func members(of json: String) -> [(name: String, value: String)] {
        guard
            case .object(let members)? = Array(json.utf8).withUnsafeBytes({
                try? JSONReader.read($0)
            })
        else { return [] }
        return members.compactMap { member in
            guard case .string(let value) = member.value else { return nil }
            return (member.name, value)
        }
    }
}
