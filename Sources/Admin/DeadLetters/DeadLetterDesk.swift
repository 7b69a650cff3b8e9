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
    /// nil: another gateway asks, and wants only what is here.
    private let exports: PiecedAnswers?
    private let cluster: ClusterView
    private let decoder = JSONLogDecoder()

    init(
        _ letters: any GatewayQueue,
        _ captures: Captures,
        _ audit: AuditTrail,
        views: SerialWorker,
        changes: SerialWorker,
        exports: PiecedAnswers? = nil
    ) {
        self.letters = letters
        self.captures = captures
        self.audit = audit
        self.views = views
        self.changes = changes
        self.exports = exports
        cluster = ClusterView(store: letters)
    }

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ actor: Operator,
        _ responder: Responder,
        unlabelled: Responder? = nil,
        _ label: Int = 0
    ) {
        let way = exports.flatMap { exports in unlabelled.map { (exports, $0, label) } }
        do throws(HTTPProblem) {
            let query = try DeadLetterQuery(head)
            switch (route, head.method) {
            case (.deadLetter(let name), let method):
                guard let id = letters.letterID(name) else {
                    return try relay(name, head, body, actor, responder)
                }
                guard method == .put else {
                    return try show(id, name, head.wantsText, responder, way)
                }
                let line = actor.entry("edit", "dead letter \(name)")
                try edit(id, name, query, body, head.wantsText, line, responder)
            case (.deadLetterReplay, _): try change(.replay, query, head, actor, responder)
            case (.deadLetterPurge, _): try change(.purge, query, head, actor, responder)
            case (.deadLetterExport, _): try export(query, responder, way)
            default: try list(query, head, responder)
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
        guard exports != nil, let shard = name.shard else { throw .noDeadLetter(name) }
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
        _ responder: Responder
    ) throws(HTTPProblem) {
        let wantsText = head.wantsText
        let list = LetterList(cluster: cluster, form: wantsText ? .text : .beginnings)
        let isTaken = views.post {
            do throws(HTTPProblem) {
                var page = try Self.read { () throws(QueueError) in try list.page(query) }
                let isFirst = query.after == nil
                var sums: [DeadLetterSum] = []
                if isFirst {
                    let found = list.sums()
                    sums = found.sums
                    page.missing.formUnion(found.missing)
                }
                var response =
                    wantsText
                    ? Response(text: DeadLetterText.list(page, sums, isFirst: isFirst))
                    : Response(json: DeadLetterText.document(page, sums))
                response.continues(page)
                responder.send(response)
            } catch {
                responder.send(error.response)
            }
        }
        guard isTaken else { throw .tooManyViews }
    }

    private func export(
        _ query: DeadLetterQuery,
        _ responder: Responder,
        _ way: Way?
    ) throws(HTTPProblem) {
        let list = LetterList(cluster: cluster, form: .whole)
        let isTaken = views.post {
            do throws(HTTPProblem) {
                let page = try Self.read { () throws(QueueError) in try list.page(query) }
                var head = Response(status: 200, contentType: "application/x-ndjson", body: [])
                head.continues(page)
                try Self.send(head, LetterPieces(page.rows), of: page.bytes, responder, way)
            } catch {
                responder.send(error.response)
            }
        }
        guard isTaken else { throw .tooManyViews }
    }

    /// The way of a long answer, with its label; nil: there is none, because another gateway asks.
    private typealias Way = (exports: PiecedAnswers, responder: Responder, label: Int)

    /// Sends letters of so many bytes: short ones at once, others in pieces.
    private static func send(
        _ head: Response,
        _ pieces: LetterPieces,
        of bytes: Int,
        _ responder: Responder,
        _ way: Way?
    ) throws(HTTPProblem) {
        if let way, bytes > LogEntry.shownMax {
            return try way.exports.send(head.labelled(way.label), to: way.responder) { _ in
                pieces.next()
            }
        }
        guard let body = pieces.all(atMost: ClusterAnswer.Letters.bytesMax) else {
            throw HTTPProblem(
                501,
                "NotSupported",
                "the letter is too long to pass between gateways; ask the one that has it"
            )
        }
        var head = head
        head.body = body
        responder.send(head)
    }

    private func show(
        _ id: Int64,
        _ name: LetterName,
        _ wantsText: Bool,
        _ responder: Responder,
        _ way: Way?
    ) throws(HTTPProblem) {
        // It may have megabytes.
        let isTaken = views.post { [letters, captures] in
            do throws(HTTPProblem) {
                let letter = try Self.read { () throws(QueueError) in try letters.deadLetter(id) }
                guard let letter else { throw .noDeadLetter(name) }
                let records = captures.records(ofLetter: id)
                let parts =
                    wantsText
                    ? DeadLetterText.page(letter, name, records)
                    : DeadLetterText.document(letter, name, records)
                try Self.send(
                    wantsText ? Response(text: "") : Response(200, json: ""),
                    LetterPieces(parts + [.written("\n")]),
                    of: letter.bytes,
                    responder,
                    way
                )
            } catch {
                responder.send(error.response)
            }
        }
        guard isTaken else { throw .tooManyViews }
    }

    // MARK: - Changing

    private func change(
        _ verb: DeadLetterWork,
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
        guard exports != nil, changes.concernsOthers(query) else {
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
    /// Adds the start of the next page, and what is missing on this one.
    fileprivate mutating func continues(_ page: LetterList.Page) {
        continues(at: page.next)
        guard !page.missing.isEmpty else { return }
        // Clients drop long header values, and would take the list for complete.
        let shown = page.missing.sorted().prefix(3).map { clipped($0, to: 60) }
        let more = page.missing.count > 3 ? " and \(page.missing.count - 3) more" : ""
        fields.append(("x-sluice-missing", shown.joined(separator: ", ") + more))
    }

    /// Adds the header with the start of the next page.
    mutating func continues(at next: (some CustomStringConvertible)?) {
        if let next { fields.append(("x-sluice-next", "\(next)")) }
    }
}
