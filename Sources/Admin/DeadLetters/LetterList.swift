import HTTP
import Queue

/// Lists dead letters of all shards of the cluster, one shard after the other.
struct LetterList {
    struct Page {
        var rows: [LetterPieces.Part] = []
        /// Where the next page begins; nil: this is the last one.
        var next: LetterName?
        /// Gateways that did not answer, and unattended shards. Their letters are not among these.
        var missing: Set<String> = []
        fileprivate(set) var bytes = 0
    }

    let cluster: ClusterView
    /// True for the lines of an export; false for rows with the beginnings of long logs.
    let isWhole: Bool

    private var letters: any DeadLetters { cluster.store }

    func page(_ query: DeadLetterQuery) throws(HTTPProblem) -> Page {
        var page = Page()
        let begin = query.after
        let sight = cluster.look()
        page.missing = sight.unattended.union(sight.unseen)
        var places = sight.places.filter { ($0.shard ?? "") >= (begin?.shard ?? "") }[...]
        // Another shard may have absorbed it, and come before it in this order.
        if let shard = begin?.shard, places.first?.shard != shard { page.missing.insert(shard) }
        while let place = places.popFirst() {
            let number = place.shard == begin?.shard ? begin?.number ?? 0 : 0
            let after = LetterName(shard: place.shard, number: number)
            guard let found = try some(of: place, after: after, query, &page) else { continue }
            page.rows += found.rows
            page.bytes += found.bytes
            if let next = found.next {
                page.next = LetterName(shard: place.shard, number: next)
                return page
            }
            let isFull =
                page.rows.count >= query.limit || page.bytes >= ClusterAnswer.bytesMax
            guard isFull, let following = places.first else { continue }
            page.next = LetterName(shard: following.shard, number: 0)
            return page
        }
        return page
    }

    private func some(
        of place: ClusterView.Place,
        after: LetterName,
        _ query: DeadLetterQuery,
        _ page: inout Page
    ) throws(HTTPProblem) -> Found? {
        let limit = query.limit - page.rows.count
        let answer: Found?
        if let node = place.node {
            guard !page.missing.contains(node) else { return nil }
            let request = RelayedRequest.letters(
                isWhole ? Self.exportPath : Self.path,
                matching: query.filter,
                after: after,
                limit: limit
            )
            guard let response = cluster.ask([node], request)[node] else {
                page.missing.insert(node)
                return nil
            }
            answer = response.status == 200 ? Found(response, isWhole: isWhole) : nil
        } else {
            answer = try own(after, query.filter, limit: limit)
        }
        // The shard has gone to another gateway since, or that one has another version.
        if answer == nil, let shard = place.shard { page.missing.insert(shard) }
        return answer
    }

    private static let path = "/admin/dead-letters"
    private static let exportPath = path + "/export"

    private struct Found {
        var rows: [LetterPieces.Part] = []
        var bytes = 0
        var next: Int64?

        init() {}

        /// The lines that another gateway answers.
        init(_ response: Response, isWhole: Bool) {
            rows = response.body.split(separator: UInt8(ascii: "\n")).map { line in
                let text = String(decoding: line, as: UTF8.self)
                return .written(isWhole ? "\(text)\n" : text[...])
            }
            bytes = response.body.count
            next = response["x-sluice-next"].flatMap { Int64($0) }
        }
    }

    /// What another gateway gets for its operators: a line for each letter, or the sums.
    func answer(_ query: DeadLetterQuery) throws(HTTPProblem) -> Response {
        guard let after = query.after else {
            return ClusterAnswer.response(with: letters.deadLetterSums)
        }
        guard let found = try own(after, query.filter, limit: query.limit, isRelayed: true) else {
            throw .noDeadLetter(after)
        }
        let lines = found.rows.texts.joined(separator: "\n")
        var response = Response(status: 200, contentType: "application/x-ndjson", text: lines)
        response.continues(at: found.next)
        return response
    }

    /// Letters of a shard of this gateway; nil: it has the shard no more.
    private func own(
        _ after: LetterName,
        _ filter: DeadLetterFilter,
        limit: Int,
        isRelayed: Bool = false
    ) throws(HTTPProblem) -> Found? {
        guard let id = letters.letterID(after) else { return nil }
        let page = try reading { () throws(QueueError) in
            try letters.deadLetters(matching: filter, after: id, limit: limit)
        }
        guard letters.letterID(after) != nil else { return nil }
        var answer = Found()
        answer.next = page.next.map { letters.letterName($0).number }
        // Other gateways take an answer of a bounded size.
        for letter in page.letters where answer.bytes < ClusterAnswer.bytesMax {
            let name = letters.letterName(letter.id)
            let row = row(letter, name, isRelayed)
            answer.rows.append(row)
            let bytes = if case .written(let text) = row { text.utf8.count } else { letter.bytes }
            answer.bytes += bytes
            if answer.bytes >= ClusterAnswer.bytesMax { answer.next = name.number }
        }
        return answer
    }

    private func row(
        _ letter: DeadLetter,
        _ name: LetterName,
        _ isRelayed: Bool
    ) -> LetterPieces.Part {
        guard isWhole else { return .written(DeadLetterDocument.line(letter, name)[...]) }
        let row = LetterPieces.Part.letter(letter, name)
        guard isRelayed else { return row }
        // The escapes of control characters may make a letter too long for a message.
        let whole = LetterPieces([row]).all(atMost: ClusterAnswer.bytesMax)
        let text = whole.map { String(decoding: $0.dropLast(), as: UTF8.self) }
        return .written((text ?? DeadLetterDocument.line(letter, name))[...])
    }

    /// The sums of all gateways, and those that did not answer.
    func sums() -> (sums: [DeadLetterSum], missing: Set<String>) {
        let nodes = cluster.look().nodes
        let answers = cluster.ask(nodes, .letters(Self.path)).compactMapValues(ClusterAnswer.sums)
        let all = answers.values.reduce(letters.deadLetterSums) { $0 + $1 }
        return (all.joined, nodes.subtracting(answers.keys))
    }
}

extension [LetterPieces.Part] {
    var texts: [String] {
        compactMap { if case .written(let text) = $0 { String(text) } else { nil } }
    }
}
