/// `sluice queue …`. The gateway checks the values.
enum QueueArguments {
    static let options: KeyValuePairs<String, String?> = [
        "--config": "FILE", "--admin-listen": "ADDRESS", "--admin-ca": "FILE",
        "--admin-cert": "FILE", "--admin-key": "FILE", "--data-dir": "DIR", "--json": nil,
        "--destination": "NAME", "--streams": "N", "--order": "ORDER",
    ]

    static func request(_ arguments: Arguments) -> AdminRequest {
        let query = ["destination", "streams", "order"].compactMap { name in
            arguments.values["--\(name)"].map { (name: name, value: $0) }
        }
        return AdminRequest(.get, "/admin/queue", query: query, accept: arguments.accept)
    }
}
