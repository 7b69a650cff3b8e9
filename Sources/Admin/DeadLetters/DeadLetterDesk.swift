import Configuration
import HTTP
import Ingest
import Logs
import Operations
import Queue
import SLS
import System

/// Answers requests about dead letters: list, show, export, edit, replay, purge. In a cluster these are the letters of all
/// gateways; a change is made by the gateway that has the shard.
///
/// The queue's own thread makes changes, and they are answered when they are durable.
final class DeadLetterDesk {
    private let letters: any GatewayQueue
    private let captures: Captures
    private let audit: AuditTrail
    /// The thread for long reads, which waits for other gateways.
    private let views: SerialWorker
    /// The thread for changes at other gateways, which take longer.
    private let changes: SerialWorker
    /// False: another gateway asks, and wants only what is here.
    private let relays: Bool
    private let cluster: ClusterView
    private let decoder = JSONLogDecoder()

    init(
        _ letters: any GatewayQueue,
        _ captures: Captures,
        _ audit: AuditTrail,
        views: SerialWorker,
        changes: SerialWorker,
        relays: Bool = true
    ) {
        self.letters = letters
        self.captures = captures
        self.audit = audit
        self.views = views
        self.changes = changes
        self.relays = relays
        cluster = ClusterView(store: letters)
    }

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ actor: Operator,
        _ responder: Responder
    ) {
        do throws(HTTPProblem) {
            let query = try DeadLetterQuery(head)
            switch (route, head.method) {
            case (.deadLetter(let name), let method):
                guard let id = letters.letterID(name) else {
                    return try relay(name, head, body, actor, responder)
                }
                guard method == .put else {
                    return try show(id, name, head.wantsText, responder)
                }
                let line = actor.entry("edit", "dead letter \(name)")
                try edit(id, name, query, body, head.wantsText, line, responder)
            case (.deadLetterReplay, _): try change(.replay, query, head, actor, responder)
            case (.deadLetterPurge, _): try change(.purge, query, head, actor, responder)
            default: try list(query, head, isExport: route == .deadLetterExport, responder)
            }
        } catch {
            responder.send(error.response)
        }
    }

    /// Lets the gateway answer that has the letter.
    private func relay(
        _ name: LetterName,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ actor: Operator,
        _ responder: Responder
    ) throws(HTTPProblem) {
        guard relays, let shard = name.shard else { throw .noDeadLetter(name) }
        let sight = cluster.look()
        guard let node = sight.node(of: shard) else {
            guard sight.isWhole else { throw HTTPProblem(503, "ServerBusy", ClusterView.unseen) }
            guard sight.unattended.contains(shard) else { throw .noDeadLetter(name) }
            throw HTTPProblem(503, "ServerBusy", "\(ClusterView.unattended(shard)); try again")
        }
        let request = RelayedRequest(head, actor, body: Array(body))
        let worker = request.method == .get ? views : changes
        let isTaken = worker.post { [cluster] in responder.send(cluster.relay(request, to: node)) }
        guard isTaken else { throw .tooManyViews }
    }

    // MARK: - Reading

    private func list(
        _ query: DeadLetterQuery,
        _ head: RequestHead,
        isExport: Bool,
        _ responder: Responder
    ) throws(HTTPProblem) {
        let wantsText = head.wantsText && !isExport
        let list = LetterList(cluster: cluster, wantsText: wantsText)
        let isTaken = views.post {
            do throws(HTTPProblem) {
                var page = try Self.read { () throws(QueueError) in try list.page(query) }
                let isFirst = query.after == nil
                var sums: [DeadLetterSum] = []
                if isFirst, !isExport {
                    let found = list.sums()
                    sums = found.sums
                    page.missing.formUnion(found.missing)
                }
                var response =
                    if isExport {
                        Response(
                            status: 200,
                            contentType: "application/x-ndjson",
                            text: page.rows.map { $0 + "\n" }.joined()
                        )
                    } else if wantsText {
                        Response(text: DeadLetterText.list(page, sums, isFirst: isFirst))
                    } else {
                        Response(json: DeadLetterText.document(page, sums))
                    }
                response.continues(at: page.next)
                if !page.missing.isEmpty {
                    response.fields.append(
                        ("x-sluice-missing", Self.named(page.missing.sorted()))
                    )
                }
                responder.send(response)
            } catch {
                responder.send(error.response)
            }
        }
        guard isTaken else { throw .tooManyViews }
    }

    /// Clients drop long header values, and would take the list for complete.
    private static func named(_ missing: [String]) -> String {
        let shown = missing.prefix(3).map { clipped($0, to: 60) }.joined(separator: ", ")
        return missing.count > 3 ? "\(shown) and \(missing.count - 3) more" : shown
    }

    private func show(
        _ id: Int64,
        _ name: LetterName,
        _ wantsText: Bool,
        _ responder: Responder
    ) throws(HTTPProblem) {
        // It may have megabytes.
        let isTaken = views.post { [letters, captures] in
            do throws(HTTPProblem) {
                let letter = try Self.read { () throws(QueueError) in try letters.deadLetter(id) }
                guard let letter else { throw .noDeadLetter(name) }
                let records = captures.records(ofLetter: id)
                responder.send(
                    wantsText
                        ? Response(text: DeadLetterText.page(letter, name, records))
                        : Response(json: DeadLetterText.document(letter, name, records))
                )
            } catch {
                responder.send(error.response)
            }
        }
        guard isTaken else { throw .tooManyViews }
    }

    // MARK: - Changing

    private func change(
        _ verb: LetterChanges.Verb,
        _ query: DeadLetterQuery,
        _ head: RequestHead,
        _ actor: Operator,
        _ responder: Responder
    ) throws(HTTPProblem) {
        try query.checkSelection()
        let changes = LetterChanges(
            verb: verb,
            cluster: cluster,
            audit: audit,
            line: actor.entry(verb.rawValue, "dead letters \(query.inWords)"),
            request: RelayedRequest(head, actor)
        )
        guard relays, changes.concernsOthers(query) else {
            return changes.make(query, besides: .init(), responder)
        }
        let isTaken = self.changes.post {
            changes.make(query, besides: changes.ask(query), responder)
        }
        guard isTaken else { throw .tooManyViews }
    }

    /// Reads the body with the decoder for devices' logs.
    private func edit(
        _ id: Int64,
        _ name: LetterName,
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
            responder.send(outcome.response(name, wantsText))
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

    private static func read<Result>(
        _ body: () throws(QueueError) -> Result
    ) throws(HTTPProblem) -> Result {
        do throws(QueueError) {
            return try body()
        } catch {
            throw HTTPProblem(503, "ServerBusy", error.description)
        }
    }
}

extension HTTPProblem {
    static func noDeadLetter(_ name: LetterName) -> HTTPProblem {
        HTTPProblem(404, "DeadLetterNotExist", "there is no dead letter \(name) (any more)")
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
    mutating func continues(at next: (some CustomStringConvertible)?) {
        if let next { fields.append(("x-sluice-next", "\(next)")) }
    }
}
