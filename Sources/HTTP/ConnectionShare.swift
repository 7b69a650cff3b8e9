import Synchronization

/// A loop's part of the connections of a passed socket. All loops watch that socket, and the
/// kernel wakes the same one again and again; so a loop that accepts a connection gives it to the
/// loop that has the fewest.
final class ConnectionShare: Sendable {
    /// The number of connections that the loop has.
    private let present = Atomic<Int>(0)
    /// The number of connections that other loops have reserved a place for, until they arrive.
    private let coming = Atomic<Int>(0)
    private let isClosed = Atomic<Bool>(false)

    var count: Int { present.load(ordering: .relaxed) + coming.load(ordering: .relaxed) }

    /// Called on its loop when the number of its connections has changed.
    func show(_ count: Int) { present.store(count, ordering: .relaxed) }

    /// Reserves a place for another loop's connection. Returns false if this loop stops; the caller
    /// then settles the place and keeps the connection.
    func reserve() -> Bool {
        // The loop closes its share before it looks at `coming`, so one of both sees the other.
        coming.add(1, ordering: .sequentiallyConsistent)
        return !isClosed.load(ordering: .sequentiallyConsistent)
    }

    /// Ends a reservation: the connection has arrived, or does not come.
    func settle() { coming.subtract(1, ordering: .sequentiallyConsistent) }

    /// Called on its loop when that stops: later reservations are refused.
    func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

    /// A connection may still come.
    var isAwaiting: Bool { coming.load(ordering: .sequentiallyConsistent) > 0 }
}
