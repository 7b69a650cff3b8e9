import Net
import System

/// The order in which waiting requests get their turn: start-time fair queueing over neighbourhoods.
///
/// A request gets a start tag when it arrives: the end of its neighbourhood's previous request, or the start tag of the
/// request that runs now if that is later. Requests run in the order of their tags. So a neighbourhood with a long
/// backlog delays another one's request by a single request of its own, whatever its requests cost.
struct FairOrder<Element> {
    private struct Turn: Comparable {
        let start: Int
        let number: Int

        /// Arrival decides between equal tags.
        static func < (one: Turn, other: Turn) -> Bool {
            (one.start, one.number) < (other.start, other.number)
        }
    }

    /// How many neighbourhoods are remembered; the rest begin like new ones.
    private static var neighbourhoodsMax: Int { 16_384 }

    private var waiting = PriorityQueue<Turn, Element>()
    /// When each neighbourhood's last request ends, in the same unit as costs.
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
        // An empty queue starts anew: no neighbourhood is ahead of another one.
        if waiting.count == 0 { (now, ends) = (0, [:]) } else { now = turn.start }
        return element
    }

    /// Takes out all elements for which the condition holds.
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
