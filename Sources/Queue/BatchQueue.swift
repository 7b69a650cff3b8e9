package import Logs
package import System

/// The queue as ingest sees it: it takes accepted batches.
package protocol BatchQueue: Sendable {
    /// The present admission: an atomic load, which ingest asks for before it reads a body.
    var admission: QueueAdmission { get }

    /// The present admission for this outlet. Its destination may be full while others are not.
    func admission(for outlet: Outlet) -> QueueAdmission

    /// The admission for a destination without known logstores: only if there is room for bytes.
    func admission(forDestination name: String) -> QueueAdmission

    /// Returns the outlets of one request that get no place for their logstores. `outlets` is in
    /// the request's order, and each one counts those before it. The other outlets have a place if
    /// the batches are stored together and no other request takes it first.
    func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet>

    /// True while unreadable text may become a dead letter of the destination. Such text stays
    /// until an operator looks at it, so clients must not be able to fill the queue with it.
    func keepsUnreadable(for destination: String) -> Bool

    /// Stores all required batches or none. An optional batch whose destination has no room is
    /// skipped. Tells the request when they are on stable storage, or when storing failed.
    func append(_ batches: [Batch], of request: any AppendingRequest)

    /// Counts a request of which no log goes to a destination. Stored within a second.
    func count(_ tally: IntakeTally)

    /// True while it stores no logs because of this gateway's own shard: a balancer should choose
    /// another gateway of the cluster.
    var failsWhileOthersWork: Bool { get }
}

extension BatchQueue {
    package var failsWhileOthersWork: Bool { false }
}

/// A request whose batches the queue stores. An object, because it passes through several lists on
/// its way to the commit and back.
package protocol AppendingRequest: AnyObject, Sendable {
    /// If the queue remembers it, it stores nothing, and the outcome gives the answer to the first
    /// request.
    var identity: BatchIdentity? { get }

    /// The device key. Streams and identities are shared by that name. Nil is a device without a
    /// key.
    var sender: String? { get }

    /// What became of the request's logs; its `copies` are the logs of all batches. It counts if
    /// the batches are stored.
    var tally: IntakeTally { get }

    /// The thread that is told the outcome, together with all others of the commit. Nil is the
    /// queue's own.
    var thread: (any CallbackThread)? { get }

    /// Called once. It must be quick and must not wait.
    func decided(_ outcome: AppendOutcome)
}

extension BatchQueue {
    /// Calls back on the queue's thread.
    package func append(
        _ batches: [Batch],
        identity: BatchIdentity? = nil,
        sender: String? = nil,
        tally: IntakeTally? = nil,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        let tally = tally ?? IntakeTally(batches)
        append(
            batches,
            of: CallingRequest(identity, sender: sender, tally: tally, whenDurable)
        )
    }
}

/// A request that passes its outcome to a function.
package final class CallingRequest: AppendingRequest {
    package let identity: BatchIdentity?
    package let sender: String?
    package let tally: IntakeTally
    package let thread: (any CallbackThread)?
    private let call: @Sendable (AppendOutcome) -> Void

    package init(
        _ identity: BatchIdentity? = nil,
        sender: String? = nil,
        tally: IntakeTally,
        on thread: (any CallbackThread)? = nil,
        _ call: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        self.identity = identity
        self.sender = sender
        self.tally = tally
        self.thread = thread
        self.call = call
    }

    package func decided(_ outcome: AppendOutcome) { call(outcome) }
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

package enum QueueAdmission: UInt8, Sendable {
    case open
    case full
    case destinationFull
    /// The destination has logs of as many logstores in the queue as it may.
    case tooManyLogstores
    /// The queue has as many waiting streams as it may.
    case tooManyStreams
    /// The destination has used up its share of the streams.
    case tooManyStreamsOfDestination
    case tooManyStreamsOfSender
    /// The file system has less free space than the queue must leave.
    case diskFull
    /// The store cannot be written. The queue tries again by itself.
    case failing
    case stopping

    /// True if batches for other destinations or streams may have room.
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

/// Logs that may share one LogGroup.
package struct StreamKey: Hashable, Sendable {
    package let destination: String
    package let logstore: String
    package let trailer: GroupTrailer

    package init(destination: String, logstore: String, trailer: GroupTrailer) {
        self.destination = destination
        self.logstore = logstore
        self.trailer = trailer
    }

    /// The cost of a stream besides its rows: most of that of a fleet that sends tiny requests with
    /// different tags, which devices choose.
    package var cost: Int {
        destination.utf8.count + logstore.utf8.count + trailer.bytes.count + Self.overhead
    }

    /// The stream's object, its places in tables and lines (300 to 400 bytes), the ends of pages.
    private static let overhead = 512

    package var outlet: Outlet { Outlet(destination: destination, logstore: logstore) }
}

/// The logs of one device request that go to one stream.
package struct Batch: Sendable {
    /// Logs that the gateway accepts although SLS will never take them unchanged.
    package struct Dead: Sendable {
        package let logs: EncodedLogs
        package let reason: DeathReason

        package init(logs: EncodedLogs, reason: DeathReason) {
            self.logs = logs
            self.reason = reason
        }
    }

    package var stream: StreamKey
    package let logs: EncodedLogs
    package internal(set) var dead: [Dead]
    /// Further logs that were accepted and that a policy dropped. They count as discarded.
    package internal(set) var dropped: Int
    /// False if the request may be stored without this batch when its destination has no room.
    package let isRequired: Bool
    /// How often the logs were replayed as dead letters, with this time. Logs with different counts
    /// never share a row, so each log keeps its own.
    package var replays = 0
    /// The logs as rows, if they were compressed at once. Empty for small batches, which share
    /// rows.
    package var rows: [PackedRow] = []
    /// Learns where the logs are stored; nil for almost all batches.
    package var track: BatchTrack?

    package init(
        stream: StreamKey,
        logs: EncodedLogs,
        dead: [Dead] = [],
        dropped: Int = 0,
        isRequired: Bool = true
    ) {
        self.stream = stream
        self.logs = logs
        self.dead = dead
        self.dropped = dropped
        self.isRequired = isRequired
    }

    package var allLogs: Int { dead.reduce(logs.count + dropped) { $0 + $1.logs.count } }
}

extension [Batch] {
    /// The logs of all batches. A span gives each in place; a loop over elements would copy it,
    /// with its seven references.
    package var logCopies: Int {
        let batches = span
        return batches.indices.reduce(0) { $0 + batches[$1].allLogs }
    }
}

/// Logs that the queue stores as one row.
package struct PackedRow: Sendable {
    package let block: StoredBlock
    package let logs: Int

    package init(block: StoredBlock, logs: Int) {
        self.block = block
        self.logs = logs
    }
}

/// A logstore of a destination. Delivery asks for packets by outlet, so a logstore that takes
/// nothing does not hold up the others.
package struct Outlet: Hashable, Sendable {
    /// The destination's name in the configuration.
    package let destination: String
    package let logstore: String

    package init(destination: String, logstore: String) {
        self.destination = destination
        self.logstore = logstore
    }
}
