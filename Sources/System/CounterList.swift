import Synchronization

/// A fixed number of counts that any thread adds to, one behind the other in memory: an array of objects would
/// cost each addition a retain and a release, three times what it is itself.
package final class CounterList: Sendable {
    let count: Int
    /// Never changed and never freed while this lives; what is behind it are atomics.
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
