import HTTP
import JSON
import Operations
import Queue
import System

/// A replay or a purge of dead letters, here and at the other gateways that have some.
struct LetterChanges: Sendable {
    /// What other gateways have done.
    struct Others: Sendable {
        var changed = 0
        var unreadable = 0
        /// Why some letters may be as they were.
        var troubles: [String] = []
    }

    let verb: DeadLetterWork
    let cluster: ClusterView
    let audit: AuditTrail
    let line: AuditEntry
    /// As it came.
    let request: RelayedRequest

    private var letters: any GatewayQueue { cluster.store }

    func concernsOthers(_ query: DeadLetterQuery) -> Bool {
        guard let names = query.ids else {
            let sight = cluster.look()
            return !sight.isWhole || !sight.nodes.isEmpty || !sight.unattended.isEmpty
        }
        return names.contains { $0.shard != nil && letters.letterID($0) == nil }
    }

    /// Lets the others change theirs. Waits for them.
    func ask(_ query: DeadLetterQuery) -> Others {
        var others = Others()
        let deadline = Moment.now + ClusterView.patienceWithChanges
        let sight = cluster.look()
        if !sight.isWhole { others.troubles.append(ClusterView.unseen) }
        guard let names = query.ids else {
            add(sight.nodes, request.forProgram(), until: deadline, to: &others)
            // Another one may have taken a shard when it had changed its own letters.
            let now = cluster.look()
            let came = now.nodes.subtracting(sight.nodes)
            if !came.isEmpty { others.troubles.append(ClusterView.joined(came)) }
            let unattended = sight.unattended.union(now.unattended)
            others.troubles += unattended.sorted().map(ClusterView.unattended)
            return others
        }
        let foreign = names.filter { $0.shard != nil && letters.letterID($0) == nil }
        // A shard that was absorbed has no letters any more.
        let unattended = sight.unattended.intersection(foreign.compactMap(\.shard))
        others.troubles += unattended.sorted().map(ClusterView.unattended)
        let byNode = Dictionary(grouping: foreign) { $0.shard.flatMap { sight.node(of: $0) } }
        for case (let node?, let names) in byNode {
            add([node], request.forProgram(ids: names), until: deadline, to: &others)
        }
        return others
    }

    private func add(
        _ nodes: Set<String>,
        _ request: RelayedRequest,
        until deadline: Moment,
        to others: inout Others
    ) {
        let answers = cluster.ask(nodes, .request(request), until: deadline)
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
            responder.send(sum.response(doing: verb, request.wantsText))
        }
        letters.change(verb, selection, whenDone: whenDone)
    }
}
