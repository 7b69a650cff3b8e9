extension LogQuery {
    private static let known = [
        "project", "logstore", "topic", "contains", "after", "limit", "order", "details", "wait_s",
        "min", "refresh",
    ]

    /// Parses the parameters of `GET /logs`. Unknown names are refused, because a misspelt filter must not return
    /// everything.
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
