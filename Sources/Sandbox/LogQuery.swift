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

    /// The SQL condition for logs within a range of numbers, and the values to bind to it, in
    /// order.
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

    /// Parses the parameters of `GET /logs`. Unknown names are refused, because a misspelt filter
    /// must not return everything.
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

    /// The parameter as a whole number.
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
