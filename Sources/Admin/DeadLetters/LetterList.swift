import HTTP
import Operations
import Queue
import System

/// Lists dead letters of all shards of the cluster, one shard after the other.
struct LetterList {
    /// A page for an operator.
    struct Page {
        var rows: [String] = []
        /// Where the next page begins; nil: this is the last one.
        var next: LetterName?
        /// Gateways that did not answer, and shards without one. Their letters are not among these.
        var missing: Set<String> = []
    }

    let cluster: ClusterView
    let wantsText: Bool

    private var letters: any DeadLetters { cluster.store }

    func page(_ query: DeadLetterQuery) throws(QueueError) -> Page {
        var page = Page()
        page.missing = Set(cluster.orphans)
        let begin = query.after
        var places = cluster.places.filter { ($0.shard ?? "") >= (begin?.shard ?? "") }[...]
        while let place = places.popFirst() {
            let number = place.shard == begin?.shard ? begin?.number ?? 0 : 0
            let after = LetterName(shard: place.shard, number: number)
            guard let found = try some(place, after, query, &page) else { continue }
            page.rows += found.rows
            if let next = found.next {
                page.next = LetterName(shard: place.shard, number: next)
                return page
            }
            guard page.rows.count >= query.limit, let following = places.first else { continue }
            page.next = LetterName(shard: following.shard, number: 0)
            return page
        }
        return page
    }

    private func some(
        _ place: ClusterView.Place,
        _ after: LetterName,
        _ query: DeadLetterQuery,
        _ page: inout Page
    ) throws(QueueError) -> ClusterAnswer.Letters? {
        let limit = query.limit - page.rows.count
        guard let node = place.node else { return try own(after, query.filter, limit: limit) }
        guard !page.missing.contains(node) else { return nil }
        let question = ClusterQuestion.letters(
            after,
            query.filter,
            limit: limit,
            wantsText: wantsText
        )
        let answer = cluster.ask([node], question)[node].flatMap { ClusterAnswer.letters($0) }
        if answer == nil { page.missing.insert(node) }
        return answer
    }

    /// Letters of a shard of this gateway.
    func own(
        _ after: LetterName,
        _ filter: DeadLetterFilter,
        limit: Int
    ) throws(QueueError) -> ClusterAnswer.Letters {
        guard let id = letters.letterID(after) else { return ClusterAnswer.Letters() }
        let page = try letters.deadLetters(matching: filter, after: id, limit: limit)
        var answer = ClusterAnswer.Letters()
        answer.next = page.next.map { letters.letterName($0).number }
        var bytes = 0
        for letter in page.letters {
            let name = letters.letterName(letter.id)
            let row =
                wantsText
                ? DeadLetterText.row(letter, name) : DeadLetterText.line(letter, name)
            // Other gateways take an answer of a bounded size.
            guard bytes < ClusterAnswer.Letters.bytesMax else { return answer }
            answer.rows.append(row)
            bytes += row.utf8.count
            if bytes >= ClusterAnswer.Letters.bytesMax { answer.next = name.number }
        }
        return answer
    }

    /// The sums of all gateways, and those that did not answer.
    func sums() -> (sums: [DeadLetterSum], missing: Set<String>) {
        let nodes = cluster.otherNodes
        let answers = cluster.ask(nodes, .sums).compactMapValues { ClusterAnswer.sums($0) }
        let all = answers.values.reduce(letters.deadLetterSums) { $0 + $1 }
        return (all.joined, nodes.subtracting(answers.keys))
    }
}
