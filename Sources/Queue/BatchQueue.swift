package import System

/// The queue as ingest sees it: it takes accepted batches.
package protocol BatchQueue: Sendable {
    /// The present admission of a batch. Costs an atomic load; ingest asks for it before it reads a
    /// body.
    var admission: QueueAdmission { get }

    /// The present admission for this outlet. Its destination may be full while others are not.
    func admission(for outlet: Outlet) -> QueueAdmission

    /// The present admission for a destination whose logstores are not known yet. It tells only if
    /// there is room for bytes.
    func admission(forDestination name: String) -> QueueAdmission

    /// Returns the outlets of one request that get no place for their logstores. `outlets` is in
    /// the request's order, and each one counts those before it. The other outlets have a place if
    /// the batches are stored together and no other request takes it first.
    func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet>

    /// True while unreadable text may become a dead letter of the destination. Such text stays
    /// until an operator looks at it, so clients must not be able to fill the queue with it.
    func keepsUnreadable(for destination: String) -> Bool

    /// Stores all required batches or none. An optional batch whose destination has no room is
    /// skipped. Calls back when they are on stable storage, or when storing failed: on `thread`,
    /// which gets all callbacks of a commit together, or without one on the queue's own. The
    /// callback must be quick and must not wait.
    ///
    /// If the queue remembers `identity`, it stores nothing, and the outcome gives the answer to
    /// the first request. `tally` is what became of the request's logs, and its `copies` are the
    /// logs of all batches. It counts if the batches are stored. `sender` is the device key of the
    /// request; streams and identities are shared by that name. Nil is a device without a key.
    func append(
        _ batches: [Batch],
        identity: BatchIdentity?,
        sender: String?,
        tally: IntakeTally,
        on thread: (any CallbackThread)?,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    )

    /// Counts a request without batches: none of its logs goes to a destination. The tally is
    /// stored within a second.
    func count(_ tally: IntakeTally)
}

extension BatchQueue {
    package func append(
        _ batches: [Batch],
        identity: BatchIdentity? = nil,
        sender: String? = nil,
        tally: IntakeTally? = nil,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        append(
            batches,
            identity: identity,
            sender: sender,
            tally: tally ?? IntakeTally(batches),
            on: nil,
            whenDurable: whenDurable
        )
    }
}

/// Identifies a request, so that the queue recognises a repeated one.
package struct BatchIdentity: Sendable, Equatable {
    /// 16 bytes of a cryptographic digest over everything that identifies the request.
    package let digest: [UInt8]
    /// The receipt in the answer to the first request.
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
    /// The destination has logs of as many logstores in the queue as it may.
    case tooManyLogstores
    /// The queue has as many waiting streams as it may.
    case tooManyStreams
    /// The destination has used up its share of the streams.
    case tooManyStreamsOfDestination
    /// The sender has used up its share of the streams.
    case tooManyStreamsOfSender
    /// The file system has less free space than the queue must leave.
    case diskFull
    /// The store cannot be written. The queue tries again by itself.
    case failing
    case stopping

    /// True if the reason is the batch's destination or stream, so that batches for other
    /// destinations may have room.
    package var concernsDestination: Bool {
        switch self {
        case .destinationFull, .tooManyLogstores, .tooManyStreams, .tooManyStreamsOfDestination,
            .tooManyStreamsOfSender:
            true
        case .open, .full, .diskFull, .failing, .stopping: false
        }
    }
}

package enum AppendOutcome: Equatable, Sendable {
    case stored
    /// The request was stored before and answered with this receipt and number of logs.
    case repeated(receipt: [UInt8], logs: Int)
    case refused(QueueAdmission)
}
