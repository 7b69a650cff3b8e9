import Configuration
import HTTP
import Ingest
import Logs
import Operations
import Queue
import SLS
import System

/// Answers requests about dead letters: list, show, export, edit, replay, purge.
///
/// The admin listener's thread reads through the queue's second connection. The queue's own thread makes changes, and
/// they are answered when they are durable.
final class DeadLetterDesk {
    private let letters: any DeadLetters
    private let captures: Captures
    private let audit: AuditTrail
    private let decoder = JSONLogDecoder()

    init(_ letters: any DeadLetters, _ captures: Captures, _ audit: AuditTrail) {
        self.letters = letters
        self.captures = captures
        self.audit = audit
    }

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        do throws(HTTPProblem) {
            let query = try DeadLetterQuery(head)
            switch (route, head.method) {
            case (.deadLetter(let id), .put):
                let line = audit.entry(holder, head, "edit", "dead letter \(id)")
                try edit(id, query, body, head.wantsText, line, responder)
            case (.deadLetter(let id), _): responder.send(try show(id, head.wantsText))
            case (.deadLetterReplay, _):
                let line = audit.entry(holder, head, "replay", "dead letters \(query.inWords)")
                letters.replay(try query.selection()) {
                    [audit, wantsText = head.wantsText] change in
                    audit.record(change, line)
                    responder.send(change.response(doing: "replay", wantsText))
                }
            case (.deadLetterPurge, _):
                let line = audit.entry(holder, head, "purge", "dead letters \(query.inWords)")
                letters.purge(try query.selection()) { [audit, wantsText = head.wantsText] change in
                    audit.record(change, line)
                    responder.send(change.response(doing: "purge", wantsText))
                }
            case (.deadLetterExport, _): responder.send(try export(query))
            default: responder.send(try list(query, head.wantsText))
            }
        } catch {
            responder.send(error.response)
        }
    }

    private func list(_ query: DeadLetterQuery, _ wantsText: Bool) throws(HTTPProblem) -> Response {
        let page = try page(query)
        let isFirst = query.after == 0
        let sums = isFirst ? letters.deadLetterSums : []
        var response =
            wantsText
            ? Response(text: DeadLetterText.list(page.letters, sums, isFirst: isFirst))
            : Response(json: DeadLetterText.document(page, sums))
        response.continues(at: page.next)
        return response
    }

    private func export(_ query: DeadLetterQuery) throws(HTTPProblem) -> Response {
        let page = try page(query)
        let lines = page.letters.map { DeadLetterText.line($0) + "\n" }.joined()
        var response = Response(status: 200, contentType: "application/x-ndjson", text: lines)
        response.continues(at: page.next)
        return response
    }

    private func page(_ query: DeadLetterQuery) throws(HTTPProblem) -> DeadLetterPage {
        try read { () throws(QueueError) in
            try letters.deadLetters(matching: query.filter, after: query.after, limit: query.limit)
        }
    }

    private func show(_ id: Int64, _ wantsText: Bool) throws(HTTPProblem) -> Response {
        let letter = try read { () throws(QueueError) in try letters.deadLetter(id) }
        guard let letter else { throw .noDeadLetter(id) }
        let records = captures.records(ofLetter: id)
        return wantsText
            ? Response(text: DeadLetterText.page(letter, records))
            : Response(json: DeadLetterText.document(letter, records))
    }

    /// Reads the body with the decoder for devices' logs.
    private func edit(
        _ id: Int64,
        _ query: DeadLetterQuery,
        _ body: UnsafeRawBufferPointer,
        _ wantsText: Bool,
        _ line: AuditEntry,
        _ responder: Responder
    ) throws(HTTPProblem) {
        if let logstore = query.filter.logstore,
            let problem = NamePattern.logstore.problem(with: logstore)
        {
            throw HTTPProblem(400, "ParameterInvalid", clipped(problem, to: 160))
        }
        var edit = DeadLetterEdit(logstore: query.filter.logstore)
        if !body.isEmpty {
            let entry = try log(in: body)
            edit.fields = entry.fields
            edit.time = entry.time
        }
        guard edit.fields != nil || edit.logstore != nil else { throw .nothingToEdit }
        var line = line
        // The audit log never has the log itself, which is customer data.
        line.after = [
            edit.fields.map { "\($0.count) fields" }, edit.logstore.map { "logstore \($0)" },
        ].compactMap { $0 }.joined(separator: ", ")
        letters.replace(id, with: edit) { [audit, line] outcome in
            if case .replaced = outcome { audit.record(line) }
            responder.send(outcome.response(id, wantsText))
        }
    }

    private func log(in body: UnsafeRawBufferPointer) throws(HTTPProblem) -> LogEntry {
        let logs: EncodedLogs
        do throws(LogDecodingError) {
            logs = try decoder.decodePlain(body, BatchTiming(arrival: .now)).sound
        } catch {
            throw Refusal(error).problem
        }
        let entry = logs.count == 1 ? logs.bytes.withUnsafeBytes { try? LogEntry($0) } : nil
        guard let entry else { throw .notOneLog(logs.count) }
        return entry
    }

    private func read<Result>(
        _ body: () throws(QueueError) -> Result
    ) throws(HTTPProblem) -> Result {
        do throws(QueueError) {
            return try body()
        } catch {
            throw HTTPProblem(503, "ServerBusy", error.description)
        }
    }
}

extension AuditTrail {
    fileprivate func record(_ change: DeadLetterChange, _ line: AuditEntry) {
        guard change.changed > 0 else { return }
        var line = line
        line.after = "\(change.changed) letters"
        record(line)
    }
}

extension HTTPProblem {
    static func noDeadLetter(_ id: Int64) -> HTTPProblem {
        HTTPProblem(404, "DeadLetterNotExist", "there is no dead letter \(id) (any more)")
    }

    fileprivate static let nothingToEdit = HTTPProblem(
        400,
        "ParameterInvalid",
        "nothing to change: send the log as one JSON object, or name another logstore with ?logstore="
    )

    fileprivate static func notOneLog(_ count: Int) -> HTTPProblem {
        HTTPProblem(
            400,
            "PostBodyInvalid",
            "the body holds \(count) logs; send exactly one, as one JSON object"
        )
    }
}

extension Response {
    /// Adds the header with the start of the next page.
    mutating func continues(at next: Int64?) {
        if let next { fields.append(("x-sluice-next", "\(next)")) }
    }
}
