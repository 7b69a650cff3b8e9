/// `sluice tail …`.
enum TailArguments {
    static let options: KeyValuePairs<String, String?> = [
        "--config": "FILE", "--admin-listen": "ADDRESS", "--admin-ca": "FILE",
        "--admin-cert": "FILE", "--admin-key": "FILE", "--data-dir": "DIR", "--json": nil,
        "--destination": "NAME", "--logstore": "NAME", "--topic": "TOPIC",
        "--tag": "NAME[:VALUE]…", "--field": "NAME[:VALUE]…", "--limit": "N",
    ]

    static func request(_ arguments: Arguments) -> AdminRequest {
        var query: [(name: String, value: String)] = []
        for name in ["destination", "logstore", "topic"] {
            if let value = arguments.values["--\(name)"] { query.append((name, value)) }
        }
        for name in ["tag", "field"] {
            query += (arguments.lists["--\(name)"] ?? []).map { (name, $0) }
        }
        return AdminRequest(.get, "/admin/tail", query: query, accept: "text/event-stream")
    }

    /// The number of logs after which the tail ends; nil for no limit.
    static func limit(_ arguments: Arguments) throws(UsageError) -> Int? {
        guard let text = arguments.values["--limit"] else { return nil }
        guard let count = Int(text), count > 0 else {
            throw UsageError("--limit is a number of logs, 1 or more", hint: "sluice help tail")
        }
        return count
    }
}
