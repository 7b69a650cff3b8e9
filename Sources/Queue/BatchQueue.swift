/// Where accepted batches go: what ingest sees of the queue.
package protocol BatchQueue: Sendable {
    /// Whether a batch would be taken now. Costs an atomic load; asked before a body is read.
    var admission: QueueAdmission { get }

    /// Stores the batches, all or none, and calls back once they are on stable storage (or cannot be),
    /// on the queue's own thread: the callback must be quick and must not wait.
    func append(
        _ batches: [Batch],
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    )
}

package enum QueueAdmission: Equatable, Sendable {
    case open
    /// The configured bound in bytes is reached.
    case full
    /// The file system has less free space than the queue leaves to others.
    case diskFull
    /// The store cannot be written; it is tried again by itself.
    case failing
    case stopping
}

package enum AppendOutcome: Equatable, Sendable {
    case stored
    case refused(QueueAdmission)
}
