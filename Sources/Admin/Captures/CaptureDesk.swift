import Configuration
import HTTP
import Ingest
import JSON
import Net
import Operations
import Queue
import Routing
import System

/// Answers requests about captures: start, look, export, replay, stop.
struct CaptureDesk {
    let devices: DeviceHandler.Shared
    let reporter: Reporter
    let letters: any DeadLetters
    let audit: AuditTrail
    /// The thread for long reads: a replay runs filters.
    let views: SerialWorker
    let exports: PiecedAnswers

    private var captures: Captures { devices.captures }

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder,
        streaming: Responder,
        metricLabel: Int
    ) {
        do throws(HTTPProblem) {
            switch (route, head.method) {
            case (.captures, .post): responder.send(try start(head, body, holder))
            case (.captures, _):
                responder.send(Response(json: Self.list(captures.all)))
            case (.capture(let id), .delete):
                _ = try session(id)
                _ = captures.remove(id)
                audit.record(audit.entry(holder, head, "stop capture", id))
                responder.send(Response(status: 204))
            case (.capture(let id), _):
                let session = try session(id)
                views.post(answering: responder, orWhenFull: .tooManyViews) {
                    responder.send(Response(json: Self.document(session)))
                }
            case (.captureHAR(let id), _):
                let session = try session(id)
                let document = HARDocument(session.records)
                let answer = export(session, as: "har", "application/json", head, holder)
                try send(answer.labelled(metricLabel), of: session, to: streaming) {
                    document.piece($0)
                }
            case (.captureExport(let id), _):
                let session = try session(id)
                let records = session.records
                let answer = export(session, as: "ndjson", "application/x-ndjson", head, holder)
                try send(answer.labelled(metricLabel), of: session, to: streaming) {
                    [letters] number in
                    guard number < records.count else { return nil }
                    var json = CaptureDocument.record(records[number], letters)
                    json.endLine()
                    return json.bytes
                }
            case (.captureRecord(let id, let number), _):
                let record = try record(id, number)
                views.post(answering: responder, orWhenFull: .tooManyViews) { [letters] in
                    responder.send(Response(json: CaptureDocument.record(record, letters)))
                }
            case (.captureCurl(let id, let number), _):
                let record = try record(id, number)
                audit.record(audit.entry(holder, head, "export capture", "\(id)/\(number)"))
                views.post(answering: responder, orWhenFull: .tooManyViews) {
                    () throws(HTTPProblem) in
                    responder.send(Response(text: try CurlLine(record).text))
                }
            case (.captureReplay(let id, let number), _):
                let record = try record(id, number)
                if head.isDryReplay {
                    replay(record, Array(body), holder, responder)
                } else {
                    try resend(record, of: id, head, body, holder, responder)
                }
            default: responder.send(AdminRoute.unknownPath.response)
            }
        } catch {
            responder.send(error.response)
        }
    }

    private func start(
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder
    ) throws(HTTPProblem) -> Response {
        let request = try CaptureRequest(Array(body))
        let session: CaptureSession
        do throws(Captures.Problem) {
            session = try captures.start(request.filter, request.limits, by: holder.name)
        } catch {
            throw HTTPProblem(
                409,
                "TooManyCaptures",
                error == .tooManyRunning
                    ? "\(Captures.runningMax) captures run already; stop one of them"
                    : "all captures together hold limits.captures "
                        + "(\(sizeText(captures.bytesMax))); stop one, or raise it"
            )
        }
        var entry = audit.entry(holder, head, "start capture", session.id)
        entry.after = session.filter.inWords
        audit.record(entry)
        var response = Response(201, json: Self.document(session))
        response.fields.append(("location", "/admin/captures/\(session.id)"))
        return response
    }

    /// The head of an export, which the audit log names.
    private func export(
        _ session: CaptureSession,
        as ending: String,
        _ type: String,
        _ head: RequestHead,
        _ holder: AdminHolder
    ) -> Response {
        audit.record(audit.entry(holder, head, "export capture", session.id))
        let name = "attachment; filename=\"sluice-\(session.id).\(ending)\""
        return Response(
            status: 200,
            contentType: type,
            fields: [(name: "content-disposition", value: name)],
            body: []
        )
    }

    /// Sends an export. Until its end, its session stays in the budget of all captures.
    private func send(
        _ head: Response,
        of session: CaptureSession,
        to responder: Responder,
        _ piece: @escaping @Sendable (Int) -> [UInt8]?
    ) throws(HTTPProblem) {
        try exports.send(head, to: responder) { number in
            withExtendedLifetime(session) { piece(number) }
        }
    }

    private func session(_ id: String) throws(HTTPProblem) -> CaptureSession {
        guard let session = captures.session(id) else {
            throw HTTPProblem(
                404,
                "CaptureNotExist",
                "there is no capture \(clipped(id)); it was removed, or the gateway restarted"
            )
        }
        return session
    }

    private func record(_ id: String, _ number: Int) throws(HTTPProblem) -> CaptureRecord {
        guard let record = try session(id).record(number) else {
            throw HTTPProblem(404, "RecordNotExist", "capture \(id) has no record \(number)")
        }
        return record
    }

    private func replay(
        _ record: CaptureRecord,
        _ body: [UInt8],
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        let makesHashes = holder.role == .full
        // Edited filters are compiled there, too: expressions may take long.
        views.post(answering: responder, orWhenFull: .tooManyViews) {
            [reporter] () throws(HTTPProblem) in
            let replay = try CaptureReplay(record, body, reporter.configuration)
            responder.send(try replay.answer(makesHashes: makesHashes))
        }
    }

    /// Stores the logs of the record again.
    private func resend(
        _ record: CaptureRecord,
        of id: String,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) throws(HTTPProblem) {
        guard body.isEmpty else {
            throw HTTPProblem(
                400,
                "PostBodyInvalid",
                "dry=false uses the filters and routes in force and takes no body; to use edited ones, change the configuration and reload"
            )
        }
        let resender = CaptureResender(devices, reporter.configuration.devices)
        let entry = audit.entry(holder, head, "replay capture", "\(id)/\(record.number)")
        views.post(answering: responder, orWhenFull: .tooManyViews) {
            [audit] () throws(HTTPProblem) in
            try resender.send(record, of: id) { result in
                switch result {
                case .success(let outcome):
                    var entry = entry
                    entry.after = "\(outcome.logs) logs, receipt \(outcome.receipt)"
                    audit.record(entry)
                    responder.send(outcome.response)
                case .failure(let problem): responder.send(problem.response)
                }
            }
        }
    }

    private static func list(_ sessions: [CaptureSession]) -> String {
        var json = JSONWriter()
        json.object { json in
            json.array("captures") { json in
                for session in sessions { json.object { $0.session(session) } }
            }
        }
        return json.text + "\n"
    }

    private static func document(_ session: CaptureSession) -> String {
        var json = JSONWriter()
        json.object { json in
            json.session(session)
            json.array("entries") { json in
                for record in session.records { json.object { $0.entry(record) } }
            }
        }
        return json.text + "\n"
    }
}

extension JSONWriter {
    fileprivate mutating func session(_ session: CaptureSession) {
        let status = session.status
        member("id", session.id)
        object("filter") { json in
            let filter = session.filter
            json.member("path", filter.path)
            json.member("host", filter.host)
            json.member("tag", filter.tag?.text)
            json.member("key", filter.key)
            json.member("address", filter.address?.description)
            json.member("status", filter.status.map { $0 < 10 ? "\($0)xx" : "\($0)" })
            json.member("text", filter.text)
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
}

extension CaptureResender.Outcome {
    fileprivate var response: Response {
        var json = JSONWriter()
        json.object { json in
            json.member("dry", false)
            json.member("receipt", receipt)
            json.member("logs", logs)
            json.member("left_out", leftOut)
            json.member("filtered", filtered)
            json.member("dropped", dropped)
            json.member("copies", copies)
        }
        return Response(json: json.text + "\n")
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
