/// The gateway's queue as a whole. Ingest uses `BatchQueue` and delivery `PacketSource`. The code
/// that starts, changes, shows and stops the queue uses this protocol.
package protocol GatewayQueue: BatchQueue, PacketSource, DeadLetters, Decisions, StreamLister,
    LogPeeker
{
    /// The state at the last commit. Touches no disk.
    var status: QueueStatus { get }

    /// Sets the rules for each destination, and the bounds if given. A destination without rules
    /// gets the defaults. The change takes effect for everything that is stored and sealed after
    /// it.
    func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?)

    /// Tells the watcher of logs that end without delivery, from the next transaction on.
    func tellEnds(to watcher: any QueueWatcher)

    /// The other gateways of the cluster; nil: the gateway takes part in none.
    var others: (any OtherGateways)? { get }

    /// Commits everything that waits and closes the queue. Refuses later callers. A callback of the
    /// queue must not call it.
    func close()
}

extension GatewayQueue {
    package var others: (any OtherGateways)? { nil }

    package func apply(_ rules: [String: DestinationRules]) { apply(rules, nil) }
}
