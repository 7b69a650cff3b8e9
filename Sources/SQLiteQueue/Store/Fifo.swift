/// A first-in, first-out list. Both ends are cheap.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    func count(where isMeant: (Element) -> Bool) -> Int {
        elements[head...].count { $0.map(isMeant) ?? false }
    }

    /// Returns the removed elements.
    mutating func removeAll(where isUnwanted: (Element) -> Bool) -> [Element] {
        let all = elements[head...].compactMap(\.self)
        elements = all.filter { !isUnwanted($0) }
        head = 0
        return all.filter(isUnwanted)
    }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head].take()
        head += 1
        // Drops the used front when it is the larger half, so each element moves at most once.
        if head > 32, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
