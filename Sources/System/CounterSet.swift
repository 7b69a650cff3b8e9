import Synchronization

/// Names the counters of a set. Keys that are counted for each log or request have raw values of
/// type Int, which number the cases from 0; others may have names.
@usableFromInline package protocol CounterKey: CaseIterable, Hashable, Sendable {
    var index: Int { get }
}

extension CounterKey where Self: RawRepresentable, RawValue == Int {
    @inlinable package var index: Int { rawValue }
}

extension CounterKey where Self: RawRepresentable, RawValue == String {
    package var index: Int { Self.allCases.enumerated().first { $1 == self }?.offset ?? 0 }
}

/// Counters by key, which any thread reads. What is called for each log or request can be inlined:
/// generic code of another module would look up the key's type each time.
@usableFromInline package struct CounterSet<Key: CounterKey>: Sendable {
    @usableFromInline let list = CounterList(count: Key.allCases.count)

    package init() {}

    /// Counts from any thread.
    @inlinable package func count(_ key: Key, _ more: Int = 1) {
        list.add(more, at: key.index)
    }

    /// Counts without a locked instruction. No other thread may ever count under this key.
    @inlinable package func countAlone(_ key: Key, _ more: Int = 1) {
        list.addAlone(more, at: key.index)
    }

    /// The counts so far. What is counted meanwhile may be in one of them and not yet in another.
    package var counts: Counts<Key> {
        var counts = Counts<Key>()
        for index in 0..<list.count { counts.values[index] = list[index] }
        return counts
    }
}

/// A number for each key: the sum of several sets, or what one thread counts before it adds it to a
/// set.
@usableFromInline package struct Counts<Key: CounterKey>: Sendable, Equatable {
    @usableFromInline var values = [Int](repeating: 0, count: Key.allCases.count)

    package init() {}

    @inlinable package subscript(key: Key) -> Int {
        get { values[key.index] }
        set { values[key.index] = newValue }
    }

    package static func += (sum: inout Counts, more: Counts) {
        for (index, count) in more.values.enumerated() { sum.values[index] += count }
    }

    /// Adds the counts to the set, and begins again at 0 in the same memory.
    package mutating func move(to set: CounterSet<Key>) {
        for index in values.indices where values[index] > 0 {
            set.list.add(values[index], at: index)
            values[index] = 0
        }
    }
}

extension Counts: ExpressibleByDictionaryLiteral {
    /// Keys that are not named have 0.
    @usableFromInline package init(dictionaryLiteral counts: (Key, Int)...) {
        for (key, count) in counts { self[key] = count }
    }
}

extension Counts where Key: RawRepresentable, Key.RawValue == String {
    package var named: [(String, Int)] { Key.allCases.map { ($0.rawValue, self[$0]) } }
}

/// A fixed number of counters that any thread adds to, in one block of memory. With an array of
/// objects, retain and release would cost three times as much as the addition.
@usableFromInline package final class CounterList: Sendable {
    package let count: Int
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

    @usableFromInline package func add(_ more: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        values[index].add(more, ordering: .relaxed)
    }

    /// Adds as the only thread that ever does.
    @usableFromInline func addAlone(_ more: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        values[index].store(values[index].load(ordering: .relaxed) &+ more, ordering: .relaxed)
    }
}
