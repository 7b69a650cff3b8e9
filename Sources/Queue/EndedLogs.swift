/// Logs that left the queue without being delivered.
package struct EndedLogs: Sendable, Equatable {
    package enum End: Sendable, Equatable {
        /// The ids of their dead letters, in the order of the logs.
        case dead([Int64])
        case expired
        case discarded
    }

    package let stream: StreamID
    /// The numbers that the logs had: see `BatchTrack.Place`.
    package let numbers: ClosedRange<Int64>
    package let end: End
    /// Last number of the row. Logs after the removed ones, up to this number, shift down to close
    /// the gap; nil: no shift.
    package let renumberedThrough: Int64?

    package init(
        stream: StreamID,
        numbers: ClosedRange<Int64>,
        end: End,
        renumberedThrough: Int64? = nil
    ) {
        self.stream = stream
        self.numbers = numbers
        self.end = end
        self.renumberedThrough = renumberedThrough
    }
}

/// Learns what becomes of logs that are not delivered. Called on the queue's thread, after the
/// answers of a transaction and before delivery has its packets. All must be quick.
package protocol QueueWatcher: Sendable {
    /// Asked when logs end. False costs nothing more.
    var wantsEnds: Bool { get }

    /// Called when the end of the logs is durable.
    func note(_ ended: [EndedLogs])

    /// A write failed, and what it did is unknown. The ends of some logs may never be told.
    func loseTrack()
}
