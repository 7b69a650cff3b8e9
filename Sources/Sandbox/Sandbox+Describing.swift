import System

extension Sandbox {
    /// Answers the two signed requests that prove a key without a write: the list of logstores, and one logstore.
    func describe(
        _ route: Route,
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer,
        _ visit: Visit
    ) throws(SLSRefusal) -> Content {
        let project = try existingProject(of: request)
        try checkVersion(request["x-log-apiversion"])
        try authenticate(request, body: body, at: visit.now)
        var text = JSONText()
        if case .logstore(let name) = route {
            try checkLogstore(name)
            text.append("{\"logstoreName\":")
            text.append(quoting: name)
            text.append(",\"ttl\":30,\"shardCount\":2}")
        } else {
            let names = logstores(of: project)
            text.append("{\"count\":")
            text.append("\(names.count)".utf8)
            text.append(",\"total\":")
            text.append("\(names.count)".utf8)
            text.append(",\"logstores\":[")
            for (index, name) in names.enumerated() {
                if index > 0 { text.append(",") }
                text.append(quoting: name)
            }
            text.append("]}")
        }
        return Content(body: text.bytes)
    }

    /// The configured logstores; if every name exists, those that have received logs.
    private func logstores(of project: String) -> [String] {
        if let names = configuration.logstores { return names.sorted() }
        return state.withLock { state in
            state.statistics.places.keys.filter { $0.project == project }.map(\.logstore).sorted()
        }
    }
}
