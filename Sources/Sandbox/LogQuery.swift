import System

/// Selects logs.
struct LogQuery: Equatable, Sendable {
    var project: String?
    var logstore: String?
    var topic: String?
    /// Text that a key, a value, a tag, the topic or the source must contain.
    var contains: String?
    /// The cursor after which the search starts.
    var after: Int64 = 0
    var limit = 1000
    /// Newest first.
    var newest = false
    /// Includes facts that SLS does not show.
    var details = false

    /// The SQL condition for logs within a range of numbers, and the values to bind to it, in order.
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
