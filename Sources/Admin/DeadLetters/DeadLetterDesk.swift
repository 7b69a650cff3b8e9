import HTTP
import Ingest
import Logs
import Operations
import Queue
import SLS
import System

/// Dead letters of all gateways: list, show, export, edit, replay, purge. The gateway that has the
/// shard makes a change, on its queue's thread, and answers when it is durable.
extension AdminCall {
    func deadLetters() throws(HTTPProblem) -> Response {
        let query = try DeadLetterQuery(head)
        let list = LetterList(cluster: cluster, isWhole: false)
        guard !isRelayed else { return try list.answer(query) }
        var page = try list.page(query)
        var sums: [DeadLetterSum] = []
        if query.after == nil {
            let found = list.sums()
            sums = found.sums
            page.missing.formUnion(found.missing)
        }
        var response = Response.json { $0.letters(page, sums) }
        response.continues(page)
        return response
    }

    func exportLetters() throws(HTTPProblem) -> Response? {
        let query = try DeadLetterQuery(head)
        let list = LetterList(cluster: cluster, isWhole: true)
        guard !isRelayed else { return try list.answer(query) }
        let page = try list.page(query)
        var response = Response(status: 200, contentType: "application/x-ndjson", body: [])
        response.continues(page)
        return try send(LetterPieces(page.rows), of: page.bytes, response)
    }

    /// A letter may have megabytes.
    func deadLetter() throws(HTTPProblem) -> Response? {
        let name = try letterName()
        let (letters, captures) = (shared.store, shared.devices.captures)
        guard let id = letters.letterID(name) else { return try relayed(name) }
        let letter = try reading { () throws(QueueError) in try letters.deadLetter(id) }
        guard let letter else { throw .noDeadLetter(name) }
        let parts = DeadLetterDocument.document(letter, name, captures.records(ofLetter: id))
        let pieces = LetterPieces(parts + [.written("\n")])
        return try send(pieces, of: letter.bytes, Response(json: ""))
    }

    /// Sends letters of so many bytes: short ones at once, others in pieces.
    private func send(
        _ pieces: LetterPieces,
        of bytes: Int,
        _ response: Response
    ) throws(HTTPProblem) -> Response? {
        if !isRelayed, bytes > LogEntry.shownMax {
            try send(response) { _ in pieces.next() }
            return nil
        }
        guard let body = pieces.all(atMost: ClusterAnswer.bytesMax) else {
            throw HTTPProblem(
                501,
                "NotSupported",
                "the letter is too long to pass between gateways; ask the one that has it"
            )
        }
        var response = response
        response.body = body
        return response
    }

    private func letterName() throws(HTTPProblem) -> LetterName {
        guard let name = LetterName(values[0]), name.number > 0 else {
            throw AdminRoute.unknownPath
        }
        return name
    }

    /// The answer of the gateway that has the letter.
    private func relayed(_ name: LetterName) throws(HTTPProblem) -> Response {
        guard !isRelayed, let shard = name.shard else { throw .noDeadLetter(name) }
        let sight = cluster.look()
        guard let node = sight.node(of: shard) else {
            guard sight.isWhole else { throw .busy(ClusterView.unseen) }
            guard sight.unattended.contains(shard) else { throw .noDeadLetter(name) }
            throw .busy("\(ClusterView.unattended(shard)); try again")
        }
        return cluster.relay(RelayedRequest(head, actor, body: body), to: node)
    }

    // MARK: - Changing

    func replayLetters() throws(HTTPProblem) -> Response? { try change(.replay) }
    func purgeLetters() throws(HTTPProblem) -> Response? { try change(.purge) }

    private func change(_ verb: DeadLetterWork) throws(HTTPProblem) -> Response? {
        try LetterChanges(verb: verb, query: try DeadLetterQuery(head), call: self).make()
        return nil
    }

    func editLetter() throws(HTTPProblem) -> Response? {
        let name = try letterName()
        guard let id = shared.store.letterID(name) else {
            respond(on: .changesElsewhere) { () throws(HTTPProblem) in try relayed(name) }
            return nil
        }
        let logstore = head.parameter("logstore")
        if let logstore, let problem = NamePattern.logstore.problem(with: logstore) {
            throw .query(clipped(problem, to: 160))
        }
        var edit = DeadLetterEdit(logstore: logstore)
        if !body.isEmpty {
            let entry = try log()
            edit.fields = entry.fields
            edit.time = entry.time
        }
        guard edit.fields != nil || edit.logstore != nil else {
            throw .query(
                "nothing to change: send the log as one JSON object, or name another logstore with ?logstore="
            )
        }
        // The audit log never has the log itself, which is customer data.
        let after = [
            edit.fields.map { "\($0.count) fields" }, edit.logstore.map { "logstore \($0)" },
        ].compactMap { $0 }.joined(separator: ", ")
        shared.store.replace(id, with: edit) { outcome in
            if case .replaced = outcome { record("edit", "dead letter \(name)", after: after) }
            respond { () throws(HTTPProblem) in try answer(outcome, name) }
        }
        return nil
    }

    /// Reads the body with the decoder for devices' logs.
    private func log() throws(HTTPProblem) -> LogEntry {
        // The decoder may read 64 bytes beyond the body.
        let padded = body + [UInt8](repeating: 0, count: 64)
        let decoded = padded.withUnsafeBytes { bytes in
            Result { () throws(LogDecodingError) in
                let text = UnsafeRawBufferPointer(rebasing: bytes.prefix(body.count))
                return try JSONLogDecoder().decodePlain(LogBody(text, BatchTiming(arrival: .now)))
                    .sound
            }
        }
        let logs: EncodedLogs
        do throws(LogDecodingError) {
            logs = try decoded.get()
        } catch {
            throw Refusal(error).problem
        }
        let entry = logs.count == 1 ? logs.bytes.withUnsafeBytes { try? LogEntry($0) } : nil
        guard let entry else {
            throw .body("the body holds \(logs.count) logs; send exactly one, as one JSON object")
        }
        return entry
    }

    private func answer(
        _ outcome: DeadLetterEditOutcome,
        _ name: LetterName
    ) throws(HTTPProblem) -> Response {
        switch outcome {
        case .replaced(let letter):
            return Response(json: DeadLetterDocument.line(letter, name) + "\n")
        case .notFound: throw .noDeadLetter(name)
        case .unreadable:
            throw .conflict(
                "DeadLetterUnreadable",
                "dead letter \(name) is damaged on disk; send the whole log to replace it"
            )
        case .tooLarge(let bytesMax):
            throw HTTPProblem(413, "PostBodyTooLarge", "a log has at most \(bytesMax) bytes")
        case .otherLogstore(let logstore):
            throw .conflict(
                "ParameterInvalid",
                "the destination delivers only to logstore \(logstore); others need logstore: \"*\" in its settings"
            )
        case .refused(let admission): throw Refusal(admission).problem
        case .busy: throw .changesWait
        }
    }
}

extension HTTPProblem {
    static func noDeadLetter(_ name: LetterName) -> HTTPProblem {
        HTTPProblem.notFound("DeadLetterNotExist", "there is no dead letter \(name) (any more)")
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
}

struct DeadLetterQuery {
    var filter = DeadLetterFilter()
    /// nil: the list begins.
    var after: LetterName?
    var limit = 100
    private(set) var ids: [LetterName]?
    private var isAll = false

    init(_ head: RequestHead) throws(HTTPProblem) {
        filter.destination = head.parameter("destination")
        filter.logstore = head.parameter("logstore")
        filter.code = head.parameter("code")
        after = try head.parameter("after").map { value throws(HTTPProblem) in
            try Self.letter("after", value, from: 0)
        }
        limit = try head.number("limit", 1...1000) ?? 100
        ids = try head.parameter("ids").map { value throws(HTTPProblem) in
            var letters: [LetterName] = []
            for part in value.split(separator: ",", omittingEmptySubsequences: false) {
                letters.append(try Self.letter("ids", String(part), from: 1))
            }
            return letters
        }
        guard let all = head.parameter("all") else { return }
        guard all == "true" else { throw .query("all cannot be \(clipped(all)); it is true") }
        isAll = true
    }

    private static func letter(
        _ name: String,
        _ value: String,
        from least: Int64
    ) throws(HTTPProblem) -> LetterName {
        guard let letter = LetterName(value), letter.number >= least else {
            throw .query("\(name) cannot be \(clipped(value)); lists show the ids of dead letters")
        }
        return letter
    }

    /// Checks that the selection of a change is explicit.
    func checkSelection() throws(HTTPProblem) {
        guard ids == nil else {
            guard filter == DeadLetterFilter(), !isAll else {
                throw .query("ids cannot be combined with a filter")
            }
            guard ids?.count ?? 0 <= DeadLetterSelection.idsMax else {
                throw .tooManyIDs
            }
            return
        }
        guard isAll || filter != DeadLetterFilter() else {
            throw .query(
                "choose letters with ids=1,2,3, a filter (destination, logstore, code), or all=true"
            )
        }
    }

    var inWords: String {
        if let ids {
            let first = ids.prefix(20).map { "\($0)" }.joined(separator: ", ")
            return ids.count > 20 ? "\(first) and \(ids.count - 20) more" : first
        }
        let parts = [
            ("destination", filter.destination), ("logstore", filter.logstore),
            ("code", filter.code),
        ]
        let given = parts.compactMap { name, value in value.map { "\(name) \(clipped($0))" } }
        return given.isEmpty ? "all" : given.joined(separator: ", ")
    }
}
