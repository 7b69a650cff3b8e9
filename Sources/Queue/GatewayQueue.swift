/// The gateway's queue for the code that starts, changes, shows and stops it. Ingest uses
/// `BatchQueue` and delivery `PacketSource`.
package protocol GatewayQueue: BatchQueue, PacketSource, DeadLetters {
    var decisions: any Decisions { get }

    /// The state at the last commit. Touches no disk.
    var status: QueueStatus { get }

    /// Sets the rules, and the bounds if given, for everything that is stored and sealed
    /// afterwards. A destination without rules gets the defaults.
    func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?)

    /// Tells the watcher of logs that end without delivery, from the next transaction on.
    func tellEnds(to watcher: any QueueWatcher)

    /// Lists the waiting streams at the last commit, on the queue's thread; nil if the queue cannot
    /// be read now or too many callers wait. The callback must be quick and must not wait.
    func list(_ wish: StreamWish, _ answer: @escaping @Sendable (StreamListing?) -> Void)

    /// The oldest logs of a destination or one of its logstores, oldest first in each stream, at
    /// most `limit` and `bytesTogether`. Takes none out. May read from the disk.
    func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog]

    /// The other gateways of the cluster; nil: the gateway takes part in none.
    var others: (any OtherGateways)? { get }

    /// Commits what waits and closes the queue. No callback of the queue may call it.
    func close()
}

extension GatewayQueue {
    package var others: (any OtherGateways)? { nil }

    package func apply(_ rules: [String: DestinationRules]) { apply(rules, nil) }
}

/// The other gateways of a cluster, which answer questions that only their askers know.
package protocol OtherGateways: Sendable {
    /// Asks gateways by the names of their nodes. One that gives no answer in time is missing. One
    /// that is not there at all takes less time.
    func ask(
        _ nodes: Set<String>,
        _ question: [UInt8],
        atMost patience: Duration
    ) -> [String: [UInt8]]

    /// Ends all questions that wait for answers, and lets none begin.
    func stopAsking()

    /// Lets the answerer answer the questions of others.
    func answerQuestions(by answerer: @escaping QuestionAnswerer)
}

/// Calls `reply` once, on a thread that must not wait.
package typealias QuestionAnswerer =
    @Sendable (
        _ question: [UInt8], _ reply: @escaping @Sendable ([UInt8]) -> Void
    ) -> Void

/// An error of the queue.
package struct QueueError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        /// Another process holds the data directory.
        case inUse
        /// The directory cannot be created, opened or written.
        case directory
        case diskFull
        /// The engine has no room for the commit log, or does not trim it.
        case commitLogFull
        case commitLogDamaged
        case corrupt
        /// The queue recalls the packet.
        case withdrawn
        /// Written by a newer Sluice.
        case newerSchema
        /// Another gateway has the shard.
        case fenced
        /// The engine of the commit log cannot be reached at this moment.
        case unreachable
        /// The engine of the commit log refuses this gateway, or lacks what it needs.
        case refused
        case io
    }

    package let kind: Kind
    /// One sentence with the path, the cause and the remedy.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
