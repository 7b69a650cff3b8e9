import Configuration
import HTTP
import Ingest
import JSON
import Net
import Operations
import Routing
import System

extension AdminCall {
    private var captures: Captures { shared.devices.captures }

    func listCaptures() -> Response {
        let sessions = captures.all
        return .json { json in json.objects("captures", sessions) { $0.session($1) } }
    }

    func startCapture() throws(HTTPProblem) -> Response {
        let request = try CaptureRequest(body)
        let session: CaptureSession
        do throws(Captures.Problem) {
            session = try captures.start(
                request.filter,
                request.limits,
                by: visitor?.holder.name ?? ""
            )
        } catch {
            throw .conflict(
                "TooManyCaptures",
                error == .tooManyRunning
                    ? "\(Captures.runningMax) captures run already; stop one of them"
                    : "all captures together hold limits.captures "
                        + "(\(sizeText(captures.bytesMax))); stop one, or raise it"
            )
        }
        record("start capture", session.id, after: session.filter.inWords)
        var response = Response.json(201) { $0.document(session) }
        response.fields.append(("location", "/admin/captures/\(session.id)"))
        return response
    }

    func capture() throws(HTTPProblem) -> Response {
        let session = try found()
        return .json { $0.document(session) }
    }

    func stopCapture() throws(HTTPProblem) -> Response {
        let id = try found().id
        _ = captures.remove(id)
        record("stop capture", id)
        return Response(status: 204)
    }

    // MARK: - Exports

    func captureArchive() throws(HTTPProblem) -> Response? {
        let session = try found()
        let document = HARDocument(session.records)
        return try export(session, as: "har", "application/json") { document.piece($0) }
    }

    func captureExport() throws(HTTPProblem) -> Response? {
        let session = try found()
        let (records, letters) = (session.records, shared.store)
        return try export(session, as: "ndjson", "application/x-ndjson") { number in
            guard number < records.count else { return nil }
            var json = JSONWriter()
            json.object { $0.record(records[number], letters) }
            json.endLine()
            return json.bytes
        }
    }

    /// Sends an export and records it. Until its end its session counts against the capture budget.
    private func export(
        _ session: CaptureSession,
        as ending: String,
        _ type: String,
        _ piece: @escaping @Sendable (Int) -> [UInt8]?
    ) throws(HTTPProblem) -> Response? {
        record("export capture", session.id)
        let name = "attachment; filename=\"sluice-\(session.id).\(ending)\""
        let fields = [(name: "content-disposition", value: name)]
        let response = Response(status: 200, contentType: type, fields: fields, body: [])
        try send(response) { number in withExtendedLifetime(session) { piece(number) } }
        return nil
    }

    // MARK: - Records

    func captureRecord() throws(HTTPProblem) -> Response {
        let (record, letters) = (try foundRecord(), shared.store)
        return .json { $0.record(record, letters) }
    }

    func captureCurl() throws(HTTPProblem) -> Response {
        let found = try foundRecord()
        record("export capture", "\(values[0])/\(found.number)")
        return Response(text: try CurlLine(found).text)
    }

    /// Edited filters are compiled for it, too: expressions may take long.
    func replayCapture() throws(HTTPProblem) -> Response? {
        let record = try foundRecord()
        guard head.isDryReplay else {
            try resend(record)
            return nil
        }
        return try dryReplay(of: record)
    }

    private func resend(_ found: CaptureRecord) throws(HTTPProblem) {
        guard body.isEmpty else {
            throw .body(
                "dry=false uses the filters and routes in force and takes no body; to use edited ones, change the configuration and reload"
            )
        }
        let resender = CaptureResender(shared.devices, shared.reporter.configuration.devices)
        try resender.send(found, of: values[0]) { result in
            respond { () throws(HTTPProblem) in
                let outcome = try result.get()
                let after = "\(outcome.logs) logs, receipt \(outcome.receipt)"
                record("replay capture", "\(values[0])/\(found.number)", after: after)
                return .json { $0.outcome(outcome) }
            }
        }
    }

    private func found() throws(HTTPProblem) -> CaptureSession {
        guard let session = captures.session(values[0]) else {
            throw .notFound(
                "CaptureNotExist",
                "there is no capture \(clipped(values[0])); it was removed, or the gateway restarted"
            )
        }
        return session
    }

    private func foundRecord() throws(HTTPProblem) -> CaptureRecord {
        guard let number = Int(values[1]), number > 0 else { throw AdminRoute.unknownPath }
        guard let record = try found().record(number) else {
            throw .notFound("RecordNotExist", "capture \(values[0]) has no record \(number)")
        }
        return record
    }
}

extension JSONWriter {
    fileprivate mutating func document(_ session: CaptureSession) {
        self.session(session)
        objects("entries", session.records) { $0.entry($1) }
    }

    fileprivate mutating func session(_ session: CaptureSession) {
        let status = session.status
        member("id", session.id)
        object("filter") { json in
            let filter = session.filter
            json.member("path", filter.path.map { Mask.hidingSecrets(in: $0) })
            json.member("host", filter.host)
            json.member("tag", filter.tag?.text)
            json.member("key", filter.key)
            json.member("address", filter.address?.description)
            json.member("status", filter.status.map { $0 < 10 ? "\($0)xx" : "\($0)" })
            json.member("text", filter.text.map { Mask.hidingSecrets(in: $0) })
        }
        member("records", session.limits.records)
        member("bytes", session.limits.bytes)
        member("seconds", Int(session.limits.time.inSeconds))
        member("started", session.started.rfc3339)
        member("ends", session.ends.rfc3339)
        member("state", status.state.rawValue)
        member("actor", session.actor)
        member("kept", status.kept)
        member("kept_bytes", status.keptBytes)
        member("matched", status.matched)
        member("missed", status.missed)
    }

    fileprivate mutating func entry(_ record: CaptureRecord) {
        member("n", record.number)
        member("time", record.time.rfc3339)
        member("method", record.method)
        member("path", record.path)
        member("address", record.address)
        member("key", record.key)
        member("tag", record.tag)
        member("status", record.answer?.status)
        member("code", record.refusal)
        member("logs", record.logCount)
        member("bytes", record.body?.bytes)
        member("milliseconds", decimal: record.answer.map { $0.time.inSeconds * 1000 })
        member("delivery", record.progress.outcome)
    }

    fileprivate mutating func outcome(_ outcome: CaptureResender.Outcome) {
        member("dry", false)
        member("receipt", outcome.receipt)
        member("logs", outcome.logs)
        member("left_out", outcome.leftOut)
        member("filtered", outcome.filtered)
        member("dropped", outcome.dropped)
        member("copies", outcome.copies)
    }
}

extension CaptureRecord {
    /// The code of its refusal; nil: it was accepted.
    var refusal: String? { decisions.first { $0.step == "answer" }?.outcome }
}

extension CaptureFilter {
    /// "path=/logs status=4xx"; "everything".
    var inWords: String {
        let parts = [
            path.map { "path=\($0)" }, host.map { "host=\($0)" }, tag.map { "tag=\($0.text)" },
            key.map { "key=\($0)" },
            address.map { "address=\($0)" },
            status.map { "status=\($0 < 10 ? "\($0)xx" : "\($0)")" },
            // The text may be customer data.
            text.map { "text of \($0.utf8.count) bytes" },
        ].compactMap(\.self)
        return parts.isEmpty ? "everything" : parts.joined(separator: " ")
    }
}

extension AdminCall {
    /// What the present or edited filters and routes would do with a captured request, without
    /// storing it. The body has edited `filters`, `routes` and `unrouted`, or is empty.
    func dryReplay(of record: CaptureRecord) throws(HTTPProblem) -> Response {
        var configuration = shared.reporter.configuration
        let rules = body.isEmpty ? "present" : "edited"
        if !body.isEmpty {
            do throws(ConfigurationProblems) {
                configuration = try configuration.withRouting(json: body)
            } catch {
                throw HTTPProblem(400, "ConfigurationInvalid", error.description)
            }
        }
        let question = try RouteQuestion(of: record, configuration.devices)
        let findings = try RouteTester(configuration, makesHashes: isFull).findings(question)
        let changes = zip(record.logs, findings.logs).map { ReplayChange($0, $1) }.enumerated()
            .filter { !$0.element.isEmpty }
        return .json { json in
            json.member("dry", true)
            json.member("configuration", rules)
            json.member("logs", findings.logs.count)
            json.member("left_out", record.logCount - findings.logs.count)
            json.objects("changes", changes) { json, change in
                json.member("log", change.offset)
                json.change(change.element)
            }
            json.members(RouteAnswer(findings))
        }
    }
}

/// How a log would fare otherwise than it did.
private struct ReplayChange {
    let tag: (was: String, is: String)?
    let fields: [(name: String, was: String?, is: String?)]
    let destinations: (was: [String], is: [String])?

    init(_ was: CaptureRecord.Log, _ now: RouteFindings.Log) {
        tag = was.tag == now.tag || now.isFiltered ? nil : (was.tag, now.tag)
        let kept = now.places.filter { $0.outcome != .passedOver }.map(\.destination)
        destinations =
            Set(was.destinations) == Set(kept) ? nil : (was.destinations, kept)
        guard !was.wasTooLong else {
            fields = []
            return
        }
        let before = Dictionary(was.after ?? []) { _, last in last }
        let after = Dictionary(now.isFiltered ? [] : now.fields.map { ($0.name, $0.value) }) {
            _,
            last in last
        }
        fields = Set(before.keys).union(after.keys).sorted().compactMap { name in
            // The time is no field to filters.
            guard name != "__time__", before[name] != after[name] else { return nil }
            return (name, before[name], after[name])
        }
    }

    var isEmpty: Bool { tag == nil && fields.isEmpty && destinations == nil }
}

extension JSONWriter {
    fileprivate mutating func change(_ change: ReplayChange) {
        object("tag", ifAny: change.tag) { json, tag in
            json.member("was", tag.was)
            json.member("is", tag.is)
        }
        object("fields") { json in
            for field in change.fields {
                json.object(field.name) { json in
                    json.member("was", field.was)
                    json.member("is", field.is)
                }
            }
        }
        object("destinations", ifAny: change.destinations) { json, places in
            json.texts("was", places.was)
            json.texts("is", places.is)
        }
    }
}
