/// Where accepted batches go: what ingest sees of the queue.
package protocol BatchQueue: Sendable {
    /// The admission of a batch right now. Costs an atomic load; asked before a body is read.
    var admission: QueueAdmission { get }

    /// The same for a batch of this outlet, whose destination may be full while others are not.
    func admission(for outlet: Outlet) -> QueueAdmission

    /// The same for batches of a destination whose logstores are not known yet: whether there is room for bytes.
    func admission(forDestination name: String) -> QueueAdmission

    /// Of the outlets that one request names, in its order, those without a place for their logstores beside the ones
    /// before them. Stored together, the others have theirs, unless someone else was faster.
    func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet>

    /// Text that cannot be read may become a dead letter of the destination. Such text stays until an operator
    /// looks at it, so clients must not be able to fill the queue with it.
    func keepsUnreadable(for destination: String) -> Bool

    /// Stores the batches, all or none, and calls back once they are on stable storage (or cannot be),
    /// on the queue's own thread: the callback must be quick and must not wait.
    ///
    /// With an identity that was stored before and is still remembered, nothing is stored, and the outcome
    /// tells what was answered then. `sender` is the device key that the request came with, by whose name streams and
    /// identities are shared; nil is a device without a key.
    func append(
        _ batches: [Batch],
        identity: BatchIdentity?,
        sender: String?,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    )
}

extension BatchQueue {
    package func append(
        _ batches: [Batch],
        identity: BatchIdentity? = nil,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        append(batches, identity: identity, sender: nil, whenDurable: whenDurable)
    }
}

/// What tells a repeated request from a new one.
package struct BatchIdentity: Sendable, Equatable {
    /// 16 bytes of a cryptographic digest of all that makes the request what it is.
    package let digest: [UInt8]
    /// What the first request was answered with.
    package let receipt: [UInt8]
    package let logs: Int

    package init(digest: [UInt8], receipt: [UInt8], logs: Int) {
        self.digest = digest
        self.receipt = receipt
        self.logs = logs
    }
}

package enum QueueAdmission: Equatable, Sendable {
    case open
    /// The configured bound in bytes is reached.
    case full
    /// The destination's own bound in bytes is reached.
    case destinationFull
    /// As many logstores of the destination have logs in the queue as may.
    case tooManyLogstores
    /// As many streams wait as may.
    case tooManyStreams
    /// The destination has its share of them.
    case tooManyStreamsOfDestination
    /// The sender has its share of them.
    case tooManyStreamsOfSender
    /// The file system has less free space than the queue leaves to others.
    case diskFull
    /// The store cannot be written; it is tried again by itself.
    case failing
    case stopping
}

package enum AppendOutcome: Equatable, Sendable {
    case stored
    /// It was stored before, and answered with this receipt and number of logs.
    case repeated(receipt: [UInt8], logs: Int)
    case refused(QueueAdmission)
}
