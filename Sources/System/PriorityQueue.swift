/// A binary heap, least key first, equal keys in any order; logarithmic to add and take.
package struct PriorityQueue<Key: Comparable, Element> {
    package typealias Entry = (key: Key, element: Element)

    private var entries: [Entry] = []

    package init() {}

    package var count: Int { entries.count }

    package var first: Entry? { entries.first }

    /// The least key.
    package var nextKey: Key? { entries.first?.key }

    package mutating func add(_ element: Element, at key: Key) {
        entries.append((key, element))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].key < entries[parent].key else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    package mutating func takeFirst() -> Entry? {
        guard !entries.isEmpty else { return nil }
        entries.swapAt(0, entries.count - 1)
        let first = entries.removeLast()
        sink(from: 0)
        return first
    }

    /// Takes the first element if its key is not greater than the limit.
    package mutating func takeFirst(upTo limit: Key) -> Entry? {
        guard let nextKey, nextKey <= limit else { return nil }
        return takeFirst()
    }

    package mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        entries.removeAll { isUnwanted($0.element) }
        // A sorted array is a heap.
        entries.sort { $0.key < $1.key }
    }

    private mutating func sink(from start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if entries[child].key < entries[least].key { least = child }
            }
            guard least != parent else { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
