import JSON
import Logs
import System

extension Sandbox {
    /// Carries out a PutLogs request, with SLS's order of checks.
    func put(
        _ request: ReceivedRequest,
        in logstore: String,
        isRouted: Bool,
        _ visit: Visit,
        inflater: Inflater
    ) throws(SLSRefusal) {
        let project = try existingProject(of: request)
        try checkFields(of: request)
        try authenticate(request, at: visit.now)
        try checkLogstore(logstore)
        let lane = try isRouted ? request.lane() : nil
        try admit(project, logstore, rawBytes: request["x-log-bodyrawsize"])
        let raw = try request.rawBody(inflater: inflater, limits: configuration.limits)
        let logs = try LogGroupReader.read(raw, rules: rules(at: visit.now))
        var address = LogArchive.Address(project: project, logstore: logstore, visit: visit)
        address.lane = lane
        try store(logs, at: address)
    }

    func track(
        _ request: ReceivedRequest,
        in logstore: String,
        _ visit: Visit,
        inflater: Inflater
    ) throws(SLSRefusal) {
        let project = try existingProject(of: request)
        try checkVersion(request["x-log-apiversion"] ?? request.parameter("APIVersion"))
        try checkLogstore(logstore)
        try admit(project, logstore, rawBytes: "\(request.body.count)")
        let raw = try request.rawTrackBody(inflater: inflater, limits: configuration.limits)
        let logs = try TrackReader.read(raw, rules: rules(at: visit.now))
        // A page may send a last, empty list when it closes.
        guard !logs.entries.isEmpty else { return }
        try store(logs, at: LogArchive.Address(project: project, logstore: logstore, visit: visit))
    }

    private func rules(at now: WallTime) -> LogChecks {
        let poisons = state.withLock { $0.poisons }
        // nil without poisons, because each key of each log is checked.
        let isAny = !poisons.refusals.isEmpty
        return LogChecks(limits: configuration.limits, now: now, poisons: isAny ? poisons : nil)
    }

    private func store(
        _ logs: ReceivedLogs,
        at address: LogArchive.Address
    ) throws(SLSRefusal) {
        let firstDrop = try state.withLock { state throws(SLSRefusal) in
            do {
                if let lane = address.lane,
                    let last = try state.archive.sequence(of: lane.key, at: address),
                    lane.sequence <= last
                {
                    throw SLSRefusal.badRequest(
                        "InvalidSequenceId",
                        "Sequence id \(lane.sequence) of key \(lane.key) is not after \(last)."
                    )
                }
                let receipt = try state.archive.store(logs, at: address)
                state.statistics.countStored(logs, at: address, receipt)
                defer { if receipt.dropped.logs > 0 { state.hasToldOfDrops = true } }
                return receipt.dropped.logs > 0 && !state.hasToldOfDrops
            } catch let refusal as SLSRefusal {
                throw refusal
            } catch {
                throw SLSRefusal.internalError("The sandbox cannot store: \(error)")
            }
        }
        late.noteStored()
        if firstDrop {
            journal.warning(
                "sandbox full, dropping oldest logs",
                [
                    "logs_max": configuration.capacity.storedLogsMax,
                    "bytes_max": configuration.capacity.storedBytesMax,
                ]
            )
        }
    }
}

extension ReceivedRequest {
    /// The hash key of a routed write, with the sequence id of an exactly-once write.
    fileprivate func lane() throws(SLSRefusal) -> (key: String, sequence: UInt64)? {
        guard let key = parameter("key") else {
            throw .badRequest("MissingParameter", "The parameter key is missing.")
        }
        guard key.utf8.count == 32, key.utf8.allSatisfy({ hexValue($0) != nil }) else {
            throw .badParameter("The hash key \(key) is not 32 hexadecimal digits.")
        }
        guard let text = parameter("seqid") else { return nil }
        guard
            !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }),
            let sequence = UInt64(text)
        else { throw .badParameter("The sequence id \(text) is not a number.") }
        return (key.lowercased(), sequence)
    }
}

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
            throw .notFound("LogStoreNotExist", "logstore \(name) does not exist")
        }
    }

    func authenticate(_ request: ReceivedRequest, at now: WallTime) throws(SLSRefusal) {
        let keys = state.withLock { $0.keys }
        let check = SignatureCheck(
            request: request,
            now: now,
            skewMax: configuration.limits.clockSkewMax,
            region: configuration.region
        )
        try check.pass(keys)
    }

    func checkFields(of request: ReceivedRequest) throws(SLSRefusal) {
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
        } else if !request.body.isEmpty {
            throw .badRequest(
                "MissingContentType",
                "Content-Type does not exist in http header when body is not empty."
            )
        }
        try checkVersion(request["x-log-apiversion"])
    }

    func checkVersion(_ version: String?) throws(SLSRefusal) {
        guard let version else {
            throw .badRequest(
                "MissingAPIVersion",
                "x-log-apiversion does not exist in http header."
            )
        }
        guard version == "0.6.0" else {
            throw .badRequest("InvalidAPIVersion", "x-log-apiversion \(version) is unsupported.")
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

extension Sandbox {
    /// Answers the signed requests that prove a key: the list of logstores, and one logstore.
    func describe(
        _ route: SandboxRoute,
        _ request: ReceivedRequest,
        _ visit: Visit
    ) throws(SLSRefusal) -> AnswerContent {
        let project = try existingProject(of: request)
        try checkVersion(request["x-log-apiversion"])
        try authenticate(request, at: visit.now)
        if case .logstore(let name) = route {
            try checkLogstore(name)
            return .json { json in
                json.member("logstoreName", name)
                json.member("ttl", 30)
                json.member("shardCount", 2)
            }
        }
        let names = logstores(of: project)
        return .json { json in
            json.member("count", names.count)
            json.member("total", names.count)
            json.texts("logstores", names)
        }
    }

    /// The configured logstores; if every name exists, those that have received logs.
    private func logstores(of project: String) -> [String] {
        if let names = configuration.logstores { return names.sorted() }
        return state.withLock { state in
            state.statistics.places.keys.filter { $0.project == project }.map(\.logstore).sorted()
        }
    }
}

extension ReceivedRequest {
    /// The raw body of a signed write, of the announced size. Valid until the inflater's next use.
    func rawBody(
        inflater: Inflater,
        limits: SandboxConfiguration.Limits
    ) throws(SLSRefusal) -> UnsafeRawBufferPointer {
        guard let text = self["x-log-bodyrawsize"] else {
            throw .badRequest(
                "MissingBodyRawSize",
                "x-log-bodyrawsize does not exist in header when it is necessary."
            )
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }), let size = Int(text)
        else {
            throw .badRequest("InvalidBodyRawSize", "x-log-bodyrawsize is invalid.")
        }
        return try inflated(size: size, inflater: inflater, limits: limits)
    }

    /// The body of an unsigned write. Browsers announce no size, or a size in UTF-16 units, so the
    /// announced size only matters for an lz4 block, which cannot be read without it.
    func rawTrackBody(
        inflater: Inflater,
        limits: SandboxConfiguration.Limits
    ) throws(SLSRefusal) -> UnsafeRawBufferPointer {
        guard self["x-log-compresstype"] == nil else {
            return try rawBody(inflater: inflater, limits: limits)
        }
        return try inflated(size: body.count, inflater: inflater, limits: limits)
    }

    private func inflated(
        size: Int,
        inflater: Inflater,
        limits: SandboxConfiguration.Limits
    ) throws(SLSRefusal) -> UnsafeRawBufferPointer {
        guard size <= limits.rawBytesMax else {
            throw .tooLarge("Body size \(size) must little than \(limits.rawBytesMax).")
        }
        guard let type = self["x-log-compresstype"] else {
            guard size == body.count else {
                throw .badParameter(
                    "x-log-bodyrawsize is \(size), the body has \(body.count) bytes."
                )
            }
            return body
        }
        // Only these exact names: SLS knows neither "gzip" nor "LZ4".
        let codings: [String: ContentCoding] = ["lz4": .lz4, "deflate": .deflate, "zstd": .zstd]
        guard let coding = codings[type] else {
            throw .badRequest("InvalidCompressType", "x-log-compresstype \(type) is unsupported.")
        }
        // Only the size is limited: in the sandbox a thousandfold expansion is no attack.
        let limit = InflateLimit(bytes: limits.rawBytesMax, freeBytes: limits.rawBytesMax)
        let raw: UnsafeRawBufferPointer
        do {
            raw = try inflater.inflate(body, coding, rawBytes: size, limit: limit)
        } catch {
            throw .badRequest("PostBodyUncompressError", "Body uncompress fail: \(error).")
        }
        // The size is SLS's contract with the sender, so it is not left to the inflater.
        guard raw.count == size else {
            throw .badRequest(
                "PostBodyUncompressError",
                "Body uncompress fail: \(raw.count) bytes, x-log-bodyrawsize is \(size)."
            )
        }
        return raw
    }
}
