import System

/// Things that wait for a moment each, the nearest one first. A binary heap: adding and taking cost the
/// logarithm of how many wait.
struct DeadlineHeap<Element> {
    private var entries: [(deadline: Moment, element: Element)] = []

    var count: Int { entries.count }
    var next: Moment? { entries.first?.deadline }

    mutating func add(_ element: Element, at deadline: Moment) {
        entries.append((deadline, element))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].deadline < entries[parent].deadline else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// The nearest one, when its moment has come.
    mutating func takeDue(_ now: Moment) -> Element? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        return first.element
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        entries.removeAll { isUnwanted($0.element) }
        // What is sorted is a heap.
        entries.sort { $0.deadline < $1.deadline }
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if entries[child].deadline < entries[smallest].deadline { smallest = child }
            }
            guard smallest != parent else { return }
            entries.swapAt(smallest, parent)
            parent = smallest
        }
    }
}
