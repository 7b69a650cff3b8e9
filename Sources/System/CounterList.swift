import Synchronization

/// A fixed number of counters that any thread adds to, in one block of memory. With an array of objects, retain and
/// release would cost three times as much as the addition.
package final class CounterList: Sendable {
    let count: Int
    /// The pointer never changes and the memory is freed in deinit only; the elements are atomics.
    private nonisolated(unsafe) let values: UnsafeMutablePointer<Atomic<Int>>

    package init(count: Int) {
        self.count = count
        values = .allocate(capacity: count)
        for index in 0..<count { (values + index).initialize(to: Atomic(0)) }
    }

    deinit {
        values.deinitialize(count: count)
        values.deallocate()
    }

    package subscript(index: Int) -> Int {
        precondition(index >= 0 && index < count)
        return values[index].load(ordering: .relaxed)
    }

    package func add(_ more: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        values[index].add(more, ordering: .relaxed)
    }
}
