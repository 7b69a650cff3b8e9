import System

extension Sandbox {
    func existingProject(of request: ReceivedRequest) throws(SLSRefusal) -> String {
        let project = try request.project()
        guard configuration.projects?.contains(project) != false else {
            throw ReceivedRequest.noSuchProject(project)
        }
        return project
    }

    func checkLogstore(_ name: String) throws(SLSRefusal) {
        guard Name.isLogstore(name), configuration.logstores?.contains(name) != false else {
            throw SLSRefusal(404, "LogStoreNotExist", "logstore \(name) does not exist")
        }
    }

    func authenticate(
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer,
        at now: WallTime
    ) throws(SLSRefusal) {
        let keys = state.withLock { $0.keys }
        let check = SignatureCheck(
            request: request,
            body: body,
            now: now,
            skewMax: configuration.limits.clockSkewMax,
            region: configuration.region
        )
        try check.pass(keys)
    }

    /// Checks the headers that every write needs.
    func checkFields(of request: ReceivedRequest, hasBody: Bool) throws(SLSRefusal) {
        guard request["content-length"] != nil else {
            throw SLSRefusal(
                411,
                "MissingContentLength",
                "Content-Length does not exist in http header when it is necessary."
            )
        }
        if let type = request["content-type"] {
            guard type == "application/x-protobuf" else {
                throw SLSRefusal(415, "InvalidContentType", "Content-Type \(type) is unsupported.")
            }
        } else if hasBody {
            throw SLSRefusal(
                400,
                "MissingContentType",
                "Content-Type does not exist in http header when body is not empty."
            )
        }
        try checkVersion(request["x-log-apiversion"])
    }

    func checkVersion(_ version: String?) throws(SLSRefusal) {
        guard let version else {
            throw SLSRefusal(
                400,
                "MissingAPIVersion",
                "x-log-apiversion does not exist in http header."
            )
        }
        guard version == "0.6.0" else {
            throw SLSRefusal(
                400,
                "InvalidAPIVersion",
                "x-log-apiversion \(version) is unsupported."
            )
        }
    }

    /// Applies the rate limits to the announced size, before the body is unpacked.
    func admit(
        _ project: String,
        _ logstore: String,
        rawBytes: String?
    ) throws(SLSRefusal) {
        let bytes = rawBytes.flatMap { Int($0) } ?? 0
        let moment = configuration.moment()
        try state.withLock { state throws(SLSRefusal) in
            try state.rateLimits.admit(project, logstore, bytes: max(0, bytes), at: moment)
        }
    }
}
