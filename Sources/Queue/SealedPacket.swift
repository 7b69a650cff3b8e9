package import System

/// A sealed packet on its way to delivery. Its content and pack id never change, not even over a
/// restart.
package struct SealedPacket: Sendable {
    /// Ascending in its shard.
    package let id: PacketID
    package let stream: StreamKey
    package let streamID: StreamID
    /// `{16 upper hex}-{upper hex counter}`, as in SLS's own `__pack_id__`.
    package let packID: String
    package let rows: ClosedRange<Int64>
    package let logCount: Int
    /// Bytes of the logs before compression, without the trailer.
    package let rawBytes: Int
    /// The time at which its oldest log was accepted.
    package let oldest: WallTime
    /// The content, if it is still in memory.
    package private(set) var recent: [StoredBlock]?
    /// For delivery exactly once. The same in each attempt.
    package let lane: Lane?
    /// True if the packet was handed over before with this lane, for example before a restart. Then
    /// it may have been sent, and even stored, although delivery does not know that.
    package let isRecovered: Bool
    /// True if all its logs are replayed dead letters. Not known after a restart.
    package let isReplayed: Bool
    /// True if delivery has not requested it: it is of a shard that this gateway only empties.
    package private(set) var isUnrequested = false

    package init(
        id: PacketID,
        stream: StreamKey,
        streamID: StreamID,
        packID: String,
        rows: ClosedRange<Int64>,
        logCount: Int,
        rawBytes: Int,
        oldest: WallTime,
        recent: [StoredBlock]?,
        lane: Lane? = nil,
        isRecovered: Bool = false,
        isReplayed: Bool = false
    ) {
        self.id = id
        self.stream = stream
        self.streamID = streamID
        self.packID = packID
        self.rows = rows
        self.logCount = logCount
        self.rawBytes = rawBytes
        self.oldest = oldest
        self.recent = recent
        self.lane = lane
        self.isRecovered = isRecovered
        self.isReplayed = isReplayed
    }

    package var shard: Shard { id.shard }
    package var number: Int64 { id.number }

    /// The same packet as one that delivery has not requested.
    package var unrequested: SealedPacket {
        var copy = self
        copy.isUnrequested = true
        return copy
    }

    /// The same packet, whose content has to be asked for.
    package var withoutContent: SealedPacket {
        var copy = self
        copy.recent = nil
        return copy
    }
}

/// One row of the queue: consecutive batches of a stream as one lz4 block.
package struct StoredBlock: Sendable {
    package let compressed: [UInt8]
    package let rawBytes: Int

    package init(compressed: [UInt8], rawBytes: Int) {
        self.compressed = compressed
        self.rawBytes = rawBytes
    }
}

/// A hash key with its own increasing sequence numbers. SLS stores the content under one number
/// once, however often it is sent. A lane carries one packet at a time.
package struct Lane: Sendable, Hashable {
    /// A point of the MD5 range, 32 lower hexadecimal digits.
    package let key: String
    package let sequence: Int64

    package init(key: String, sequence: Int64) {
        self.key = key
        self.sequence = sequence
    }
}
