import Synchronization

/// A loop's part of the connections of a passed socket. All loops watch that socket, and the
/// kernel wakes the same one again and again; so a loop that accepts a connection gives it to the
/// loop that has the fewest.
final class ConnectionShare: Sendable {
    /// Those that the loop had after its last round.
    private let present = Atomic<Int>(0)
    /// Those that other loops are giving to it.
    private let coming = Atomic<Int>(0)
    private let isClosed = Atomic<Bool>(false)

    var count: Int { present.load(ordering: .relaxed) + coming.load(ordering: .relaxed) }

    /// On its loop: how many connections it has.
    func show(_ count: Int) { present.store(count, ordering: .relaxed) }

    /// Another loop wants to give it a connection; false: it takes none any more.
    func reserve() -> Bool {
        // The loop closes its share before it looks at `coming`, so one of both sees the other.
        coming.add(1, ordering: .sequentiallyConsistent)
        return !isClosed.load(ordering: .sequentiallyConsistent)
    }

    /// The connection that was reserved is there, or was refused.
    func settle() { coming.subtract(1, ordering: .sequentiallyConsistent) }

    /// On its loop, which stops: no connection is reserved any more.
    func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

    /// A connection may still come.
    var isAwaiting: Bool { coming.load(ordering: .sequentiallyConsistent) > 0 }
}
