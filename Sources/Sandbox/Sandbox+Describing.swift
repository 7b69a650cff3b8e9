import JSON
import System

extension Sandbox {
    /// Answers the two signed requests that prove a key without a write: the list of logstores, and
    /// one logstore.
    func describe(
        _ route: SandboxRoute,
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer,
        _ visit: Visit
    ) throws(SLSRefusal) -> AnswerContent {
        let project = try existingProject(of: request)
        try checkVersion(request["x-log-apiversion"])
        try authenticate(request, body: body, at: visit.now)
        var json = JSONWriter()
        if case .logstore(let name) = route {
            try checkLogstore(name)
            json.object { json in
                json.member("logstoreName", name)
                json.member("ttl", 30)
                json.member("shardCount", 2)
            }
        } else {
            let names = logstores(of: project)
            json.object { json in
                json.member("count", names.count)
                json.member("total", names.count)
                json.texts("logstores", names)
            }
        }
        return AnswerContent(body: json.bytes)
    }

    /// The configured logstores; if every name exists, those that have received logs.
    private func logstores(of project: String) -> [String] {
        if let names = configuration.logstores { return names.sorted() }
        return state.withLock { state in
            state.statistics.places.keys.filter { $0.project == project }.map(\.logstore).sorted()
        }
    }
}
