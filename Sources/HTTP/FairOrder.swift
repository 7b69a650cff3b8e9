import Net
import System

/// The order in which waiting requests get their turn: start-time fair queueing over
/// neighbourhoods.
///
/// A request gets a start tag on arrival: the end of its neighbourhood's previous request, or the
/// start tag of the running request if that is later. Requests run in the order of their tags. So a
/// neighbourhood with a long backlog delays another one's request by only one of its own requests,
/// whatever its requests cost.
struct FairOrder<Element> {
    private struct Turn: Comparable {
        let start: Int
        let number: Int

        /// Arrival order decides between equal tags.
        static func < (one: Turn, other: Turn) -> Bool {
            (one.start, one.number) < (other.start, other.number)
        }
    }

    /// The limit of remembered neighbourhoods; others start like new ones.
    private static var neighbourhoodsMax: Int { 16_384 }

    private var waiting = PriorityQueue<Turn, Element>()
    /// The end of each neighbourhood's last request, in the unit of costs.
    private var ends: [Neighbourhood?: Int] = [:]
    private var now = 0
    private var count = 0

    var waitingCount: Int { waiting.count }
    var rememberedCount: Int { ends.count }

    mutating func add(_ element: Element, of neighbourhood: Neighbourhood?, cost: Int) {
        if ends.count >= Self.neighbourhoodsMax { forgetNeighbourhoods() }
        let start = max(now, ends[neighbourhood] ?? 0)
        ends[neighbourhood] = start + max(1, cost)
        count += 1
        waiting.add(element, at: Turn(start: start, number: count))
    }

    mutating func takeNext() -> Element? {
        guard let (turn, element) = waiting.takeFirst() else { return nil }
        // An empty queue starts over, so no neighbourhood is ahead of another.
        if waiting.count == 0 { (now, ends) = (0, [:]) } else { now = turn.start }
        return element
    }

    /// Removes all elements that meet the condition.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        waiting.removeAll { element in
            guard condition(element) else { return false }
            removed.append(element)
            return true
        }
        return removed
    }

    private mutating func forgetNeighbourhoods() {
        let now = now
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.neighbourhoodsMax { ends = [:] }
    }
}
