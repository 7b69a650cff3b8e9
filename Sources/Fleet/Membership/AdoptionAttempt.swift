import Synchronization

/// An attempt to adopt a shard, which takes as long as its log is read.
final class AdoptionAttempt: Sendable {
    private enum State: UInt8 { case reading, cancelled, open }

    let shard: String
    /// Of this gateway's register, when it became a candidate.
    let revision: UInt64
    private let state = Atomic<UInt8>(State.reading.rawValue)

    init(of shard: String, asCandidateAt revision: UInt64) {
        self.shard = shard
        self.revision = revision
    }

    /// Ends the reading. If the attempt has appended its epoch already, the fence decides.
    func cancel() {
        _ = state.compareExchange(
            expected: State.reading.rawValue,
            desired: State.cancelled.rawValue,
            ordering: .relaxed
        )
    }

    /// The shard is open, and cannot be cancelled any more.
    func opened() { state.store(State.open.rawValue, ordering: .relaxed) }

    var isCancelled: Bool { state.load(ordering: .relaxed) == State.cancelled.rawValue }
}
