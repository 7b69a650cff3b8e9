package import System

/// The queue as delivery sees it: delivery asks for packets and acknowledges each one. There is
/// only one consumer.
///
/// The queue seals a packet when it hands it over, not before. While a destination asks for
/// nothing, its logs gather in their streams, so its packets are full when it asks again.
package protocol PacketSource: Sendable {
    /// Posts a request, from any thread. The queue's thread carries requests out in their order.
    func post(_ request: DeliveryRequest)

    /// The packet's content, in order. Called on the consumer's thread. Recent rows come from
    /// memory, others from disk through the read-only connection.
    ///
    /// A `corrupt` error makes the packet void: the caller drops it and requests another one. The
    /// queue hands over the readable rest in a new packet and counts the other logs as discarded.
    /// `withdrawn` also makes it void: the logs grew too old, or the queue hands them over again
    /// for another logstore. After any other error the packet stays valid, and the caller can read
    /// it later.
    func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock]
}

/// A request of delivery to the queue.
package enum DeliveryRequest: Sendable {
    /// Sets the receiver of all news, and announces all known outlets. The queue calls the receiver
    /// on its thread; it must be quick.
    case connect(@Sendable (DeliveryNews) -> Void)
    /// Allows the queue to hand over so many more packets of an announced outlet. The queue
    /// remembers at most 4096. Packets sealed before the last start come first. Then come streams
    /// that reached their size or age, oldest first. Pieces of refused packets take turns with all
    /// of them.
    case packets(Int, of: Outlet)
    /// Gives a packet up. The caller drops it and requests others.
    case end(PacketID, PacketEnd)
    /// The packet must wait until another packet of its outlet is stored. The caller keeps it, and
    /// it keeps its lane. The queue may seal another packet in its place.
    case setAside(PacketID)
    /// Seals the waiting logs of a destination now, without waiting for size or age.
    case flush(String)
}

/// What the queue tells delivery.
package enum DeliveryNews: Sendable {
    /// Packets that delivery has asked for, after the commit that sealed them.
    case packets([SealedPacket])
    /// Outlets, each before its first packet. An announced outlet has no requests yet.
    case announced([Outlet])
    /// These outlets had no logs for so long that the queue removed them and the requests for them.
    /// The queue announces them again with their next log.
    case retired([Outlet])
    /// Packets that the queue wants back, by the outlet that they were handed over for. They grew
    /// too old or now belong to another logstore. Delivery gives back packets that no request
    /// carries. It gives back the others at their next attempt, when `blocks` throws `withdrawn`.
    case recalled([Outlet: Set<PacketID>])
}

extension PacketSource {
    package func connect(_ receiver: @escaping @Sendable (DeliveryNews) -> Void) {
        post(.connect(receiver))
    }

    package func request(_ count: Int, for outlet: Outlet) { post(.packets(count, of: outlet)) }

    package func end(_ packet: SealedPacket, _ end: PacketEnd) { post(.end(packet.id, end)) }

    package func setAside(_ packet: SealedPacket) { post(.setAside(packet.id)) }

    package func flush(_ destination: String) { post(.flush(destination)) }
}

/// How delivery gives up a packet, and what the queue does with it.
package enum PacketEnd: Sendable, Equatable {
    /// The destination stored the packet. The queue removes it and counts its logs as delivered.
    case stored
    /// The destination refuses the packet's content for good. The queue removes logs that it knows
    /// to be wrong. If it knows none, it halves the packet until one log is left, which becomes a
    /// dead letter with the reason. The queue hands over the rest in new packets.
    case isolate(DeathReason)
    /// The operator wants such packets dropped. The queue counts its logs as discarded.
    case discard(DeathReason)
    /// SLS has seen the packet's number, but not the packet. The queue hands it over in another
    /// lane.
    case relane
    /// Another packet of its outlet must be stored first, as with `setAside`. The queue hands it
    /// over again, with its lane, when one was acknowledged or nothing else is left.
    case postpone
    /// The packet was recalled, and no request carries it.
    case recalled
}

/// A sealed packet. Its content and pack id never change, not even over a restart.
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
    /// True if the packet was handed over before with this lane, as before a restart. It may have
    /// been sent, and even stored, although delivery does not know that.
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
    /// True if this process compressed it, and it did not come from a disk.
    package let isOwn: Bool

    package init(compressed: [UInt8], rawBytes: Int, isOwn: Bool = false) {
        self.compressed = compressed
        self.rawBytes = rawBytes
        self.isOwn = isOwn
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
