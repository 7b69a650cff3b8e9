import HTTP
import JSON
import Operations
import Queue
import System

/// A replay or a purge of dead letters, here and at the other gateways that have some.
struct LetterChanges: Sendable {
    struct Others: Sendable {
        var changed = 0
        var unreadable = 0
        /// Why some letters may be as they were.
        var troubles: [String] = []
    }

    let verb: DeadLetterWork
    let query: DeadLetterQuery
    let call: AdminCall

    private var letters: any GatewayQueue { call.shared.store }

    func make() throws(HTTPProblem) {
        try query.checkSelection()
        guard !call.isRelayed, concernsOthers else { return make(besides: Others()) }
        call.respond(on: .changesElsewhere) {
            make(besides: ask())
            return nil
        }
    }

    private var concernsOthers: Bool {
        guard query.ids == nil else { return !foreign.isEmpty }
        let sight = call.cluster.look()
        return !sight.isWhole || !sight.nodes.isEmpty || !sight.unattended.isEmpty
    }

    /// Letters that another gateway has, or had.
    private var foreign: [LetterName] {
        query.ids?.filter { $0.shard != nil && letters.letterID($0) == nil } ?? []
    }

    /// Lets the others change theirs. Waits for them.
    private func ask() -> Others {
        var others = Others()
        let (cluster, foreign) = (call.cluster, foreign)
        let relayed = RelayedRequest(call.head, call.actor)
        let deadline = Moment.now + ClusterView.patienceWithChanges
        let sight = cluster.look()
        if !sight.isWhole { others.troubles.append(ClusterView.unseen) }
        guard query.ids != nil else {
            add(sight.nodes, relayed, until: deadline, to: &others)
            // Another one may have taken a shard when it had changed its own letters.
            let now = cluster.look()
            let came = now.nodes.subtracting(sight.nodes)
            if !came.isEmpty { others.troubles.append(ClusterView.joined(came)) }
            let unattended = sight.unattended.union(now.unattended)
            others.troubles += unattended.sorted().map(ClusterView.unattended)
            return others
        }
        // A shard that was absorbed has no letters any more.
        let unattended = sight.unattended.intersection(foreign.compactMap(\.shard))
        others.troubles += unattended.sorted().map(ClusterView.unattended)
        let byNode = Dictionary(grouping: foreign) { $0.shard.flatMap { sight.node(of: $0) } }
        for case (let node?, let names) in byNode {
            add([node], relayed.selecting(names), until: deadline, to: &others)
        }
        return others
    }

    private func add(
        _ nodes: Set<String>,
        _ relayed: RelayedRequest,
        until deadline: Moment,
        to others: inout Others
    ) {
        let answers = call.cluster.ask(nodes, relayed, until: deadline)
        for (node, response) in answers {
            let body = try? JSONValue(parsing: response.body)
            guard response.status == 200, let changed = body?[verb.done]?.wholeNumber else {
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
    private func make(besides others: Others) {
        let selection =
            query.ids.map { .ids($0.compactMap { letters.letterID($0) }) }
            ?? DeadLetterSelection.matching(query.filter)
        let whenDone: @Sendable (DeadLetterChange) -> Void = { change in
            if change.changed > 0 {
                let (subject, after) = (
                    "dead letters \(query.inWords)", "\(change.changed) letters"
                )
                call.record(verb.rawValue, subject, after: after)
            }
            var sum = change
            sum.changed += others.changed
            sum.unreadable += others.unreadable
            call.respond { () throws(HTTPProblem) in try answer(sum, others.troubles) }
        }
        letters.change(verb, selection, whenDone: whenDone)
    }

    private func answer(
        _ sum: DeadLetterChange,
        _ troubles: [String]
    ) throws(HTTPProblem) -> Response {
        let done = "\(sum.changed) \(verb.done)"
        guard troubles.isEmpty || sum.end == .tooManyIDs else {
            let all = troubles.sorted().joined(separator: "; ")
            throw .busy("\(done); others may stay dead letters: \(all)")
        }
        switch sum.end {
        case .complete: break
        case .refused(let admission):
            throw .busy("\(done), the rest stay dead letters: \(admission.reason ?? "try again")")
        case .busy: throw .changesWait
        case .tooManyIDs: throw .tooManyIDs
        }
        return .json { json in
            json.member(verb.done, sum.changed)
            json.member("unreadable", sum.unreadable)
        }
    }
}

extension DeadLetterWork {
    fileprivate var done: String { self == .replay ? "replayed" : "purged" }
}

extension HTTPProblem {
    static let changesWait = busy(
        "too many changes of dead letters are waiting; try again in a moment"
    )
    static let tooManyIDs = query(
        "at most \(DeadLetterSelection.idsMax) ids at a time; use a filter for more"
    )
}
