import HTTP
import JSON
import Operations
import Queue
import System

/// A replay or a purge of dead letters, here and at the other gateways that have some.
struct LetterChanges: Sendable {
    enum Verb: String, Sendable {
        case replay, purge

        var done: String { self == .replay ? "replayed" : "purged" }
    }

    /// What other gateways have done.
    struct Others: Sendable {
        var changed = 0
        var unreadable = 0
        /// Why some letters may be as they were.
        var troubles: [String] = []
    }

    let verb: Verb
    let cluster: ClusterView
    let audit: AuditTrail
    let line: AuditEntry
    /// As it came.
    let request: RelayedRequest

    private var letters: any GatewayQueue { cluster.store }

    func concernsOthers(_ query: DeadLetterQuery) -> Bool {
        guard let names = query.ids else {
            return !cluster.otherNodes.isEmpty || !cluster.unattended.isEmpty
        }
        return names.contains { $0.shard != nil && letters.letterID($0) == nil }
    }

    /// Lets the others change theirs. Waits for them.
    func ask(_ query: DeadLetterQuery) -> Others {
        var others = Others()
        guard let names = query.ids else {
            add(cluster.otherNodes, request.forProgram(), to: &others)
            others.troubles += cluster.unattended.map(ClusterView.unattended)
            return others
        }
        let foreign = names.filter { letters.letterID($0) == nil }
        for (shard, names) in Dictionary(grouping: foreign, by: { $0.shard ?? "" }) {
            guard let node = cluster.node(of: shard) else {
                // A shard that was absorbed has no letters any more.
                if cluster.unattended.contains(shard) {
                    others.troubles.append(ClusterView.unattended(shard))
                }
                continue
            }
            add([node], request.forProgram(ids: names), to: &others)
        }
        return others
    }

    private func add(_ nodes: Set<String>, _ request: RelayedRequest, to others: inout Others) {
        let answers = cluster.ask(nodes, .request(request))
        for (node, bytes) in answers {
            let response = ClusterAnswer.response(bytes)
            let body = response.flatMap { try? JSONValue(parsing: $0.body) }
            guard response?.status == 200, let changed = body?[verb.done]?.wholeNumber else {
                let reason = body?["error"]?["message"]?.text ?? "its answer cannot be read"
                others.troubles.append("\(node): \(printable(reason))")
                continue
            }
            others.changed += changed
            others.unreadable += body?["unreadable"]?.wholeNumber ?? 0
        }
        let silent = nodes.subtracting(answers.keys)
        if !silent.isEmpty { others.troubles.append(ClusterView.silent(silent)) }
    }

    /// Changes the letters that are here, and answers with the sum.
    func make(_ query: DeadLetterQuery, besides others: Others, _ responder: Responder) {
        let selection =
            query.ids.map { .ids($0.compactMap { letters.letterID($0) }) }
            ?? DeadLetterSelection.matching(query.filter)
        let whenDone: @Sendable (DeadLetterChange) -> Void = { change in
            if change.changed > 0 {
                var line = line
                line.after = "\(change.changed) letters"
                audit.record(line)
            }
            var sum = change
            sum.changed += others.changed
            sum.unreadable += others.unreadable
            guard others.troubles.isEmpty, change.end != .tooManyIDs else {
                let text =
                    "\(sum.changed) \(verb.done); others may stay dead letters: "
                    + others.troubles.sorted().joined(separator: "; ")
                return responder.send(HTTPProblem(503, "ServerBusy", text).response)
            }
            responder.send(sum.response(doing: verb.rawValue, request.wantsText))
        }
        switch verb {
        case .replay: letters.replay(selection, whenDone: whenDone)
        case .purge: letters.purge(selection, whenDone: whenDone)
        }
    }
}
