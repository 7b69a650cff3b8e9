import JSON
import System

extension Sandbox {
    func listLimits() -> Answer {
        let limits = state.withLock { $0.rateLimits.entries.map(\.limit) }
        return .json { json in
            json.array("limits") { json in
                for limit in limits { json.object { Self.write(limit, to: &$0) } }
            }
        }
    }

    private static func write(_ limit: RateLimit, to json: inout JSONWriter) {
        if let project = limit.project { json.member("project", project) }
        if let logstore = limit.logstore { json.member("logstore", logstore) }
        if let rate = limit.requestsPerSecond {
            json.member("requests_per_second", number: "\(rate)")
        }
        if let rate = limit.bytesPerSecond { json.member("bytes_per_second", number: "\(rate)") }
        json.member("code", limit.code)
    }

    func setLimit(_ body: UnsafeRawBufferPointer) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(body)
        let project = try fields.text("project")
        let logstore = try fields.text("logstore")
        let requests = try fields.number("requests_per_second", in: 0...1_000_000)
        let bytes = try fields.number("bytes_per_second", in: 0...1e12)
        let code = try fields.text("code")
        try fields.refuseUnknown()
        guard requests != nil || bytes != nil else {
            throw .badParameter("Give requests_per_second or bytes_per_second.")
        }
        // SLS counts a project's writes, and the rates of each shard.
        let usual = logstore == nil ? "WriteQuotaExceed" : "ShardWriteQuotaExceed"
        guard code == nil || KnownCode.statuses[code ?? ""] == 403 else {
            throw .badParameter("code must be WriteQuotaExceed or ShardWriteQuotaExceed.")
        }
        let limit = RateLimit(
            project: project,
            logstore: logstore,
            requestsPerSecond: requests,
            bytesPerSecond: bytes,
            code: code ?? usual
        )
        let moment = configuration.moment()
        guard state.withLock({ $0.rateLimits.set(limit, at: moment) }) else {
            throw .badParameter(
                "\(configuration.capacity.rateLimitsMax) limits are set: remove some first."
            )
        }
        return listLimits()
    }

    func removeLimits(_ request: ReceivedRequest) -> Answer {
        let project = request.parameter("project")
        let logstore = request.parameter("logstore")
        state.withLock { state in
            if project == nil, logstore == nil {
                state.rateLimits.removeAll()
            } else {
                state.rateLimits.remove(project: project, logstore: logstore)
            }
        }
        return listLimits()
    }
}
