/// The active faults in the order of their creation.
struct FaultPlan: Sendable {
    struct Entry: Sendable {
        let id: Int
        var fault: Fault
        var hits = 0
    }

    private(set) var entries: [Entry] = []
    private var lastID = 0
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Adds a fault and returns its number; nil when there are too many.
    mutating func add(_ fault: Fault) -> Int? {
        guard entries.count < capacity else { return nil }
        lastID += 1
        entries.append(Entry(id: lastID, fault: fault))
        return lastID
    }

    /// Removes one fault, or all for nil; returns the removed numbers.
    mutating func remove(_ id: Int?) -> [Int] {
        let removed = entries.map(\.id).filter { id == nil || $0 == id }
        entries.removeAll { id == nil || $0.id == id }
        return removed
    }

    /// Applies the faults that match a request. At most one decides the answer. A second one waits
    /// for its turn, so that the counts of faults run one after the other.
    mutating func applyFaults(
        to target: Fault.Target,
        random: inout SeededRandom
    ) -> Mishap {
        var mishap = Mishap()
        for index in entries.indices where entries[index].fault.concerns(target) {
            let fault = entries[index].fault
            if fault.count == 0 { continue }
            if fault.answer != nil, mishap.answer != nil { continue }
            if fault.skip > 0 {
                entries[index].fault.skip -= 1
                continue
            }
            guard fault.fraction >= 1 || random.fraction() < fault.fraction else { continue }
            if let count = fault.count { entries[index].fault.count = count - 1 }
            entries[index].hits += 1
            mishap.add(fault, entries[index].id)
        }
        // A used-up fault that holds answers stays until it is removed.
        entries.removeAll { $0.fault.count == 0 && $0.fault.answer != .hold }
        return mishap
    }
}

extension Mishap {
    fileprivate mutating func add(_ fault: Fault, _ id: Int) {
        if let answer = fault.answer {
            self.answer = answer
            store = fault.store
            retryAfter = fault.retryAfter
            if answer == .hold { holder = id }
        }
        padding += fault.padding
        if let latency = fault.latency { self.latency += latency }
        if let offset = fault.clockOffset { clockOffset += offset }
        if fault.withoutRequestID { withoutRequestID = true }
    }
}
