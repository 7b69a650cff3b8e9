import Net

/// The order in which waiting requests get their turn: start-time fair queueing over neighbourhoods.
///
/// A request gets a start tag when it arrives: the end of its neighbourhood's previous request, or the start tag of the
/// request that runs now if that is later. Requests run in the order of their tags. So a neighbourhood with a long
/// backlog delays another one's request by a single request of its own, whatever its requests cost.
struct FairOrder<Element> {
    private struct Entry {
        let start: Int
        let number: Int
        let element: Element

        /// Arrival decides between equal tags.
        func isBefore(_ other: Entry) -> Bool {
            (start, number) < (other.start, other.number)
        }
    }

    /// How many neighbourhoods are remembered; the rest begin like new ones.
    private static var neighbourhoodsMax: Int { 16_384 }

    /// A binary heap; its first entry is the next.
    private var heap: [Entry] = []
    /// When each neighbourhood's last request ends, in the same unit as costs.
    private var ends: [Neighbourhood?: Int] = [:]
    private var now = 0
    private var count = 0

    var waitingCount: Int { heap.count }
    var rememberedCount: Int { ends.count }

    mutating func add(_ element: Element, of neighbourhood: Neighbourhood?, cost: Int) {
        if ends.count >= Self.neighbourhoodsMax { forgetNeighbourhoods() }
        let start = max(now, ends[neighbourhood] ?? 0)
        ends[neighbourhood] = start + max(1, cost)
        count += 1
        heap.append(Entry(start: start, number: count, element: element))
        siftUp(heap.count - 1)
    }

    mutating func takeNext() -> Element? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            siftDown(0)
            now = first.start
        } else {
            // Nobody waits, so nobody is ahead of anybody.
            (now, ends) = (0, [:])
        }
        return first.element
    }

    /// Takes out all elements for which the condition holds.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        heap.removeAll { entry in
            guard condition(entry.element) else { return false }
            removed.append(entry.element)
            return true
        }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
        return removed
    }

    private mutating func forgetNeighbourhoods() {
        let now = now
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.neighbourhoodsMax { ends = [:] }
    }

    private mutating func siftUp(_ place: Int) {
        var place = place
        while place > 0, heap[place].isBefore(heap[(place - 1) / 2]) {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func siftDown(_ place: Int) {
        var place = place
        while true {
            var first = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
                if heap[child].isBefore(heap[first]) { first = child }
            }
            guard first != place else { return }
            heap.swapAt(place, first)
            place = first
        }
    }
}
