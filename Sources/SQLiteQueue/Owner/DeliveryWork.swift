import Queue
import SQLite
import System

/// The owner's work for delivery: the packets that delivery asks for, holds and gives back.
final class DeliveryWork {
    let packets: PacketsInDelivery
    private var receiver: (@Sendable ([SealedPacket]) -> Void)?
    private(set) var outlets = OutletAnnouncer()
    private(set) var returns = PacketReturns()
    private(set) var isolations: Isolations
    private(set) var discards: Discards
    /// Destinations to seal without waiting for size or age.
    private var flushes: [String] = []
    /// Logs that leave in the current transaction without being delivered.
    var losses = TransactionLosses()
    /// Packets that got another lane since the start.
    private(set) var relaneCount = 0

    init(_ recalls: Recalls, _ journal: Journal) {
        packets = PacketsInDelivery(recalls)
        isolations = Isolations(journal)
        discards = Discards(journal)
    }

    /// True if delivery is connected and asks for packets.
    var isAsking: Bool { receiver != nil }

    // MARK: - Messages

    func take(_ message: DeliveryMessage, _ store: OpenStore?) {
        switch message {
        case .deliver(let receiver): self.receiver = receiver
        case .announce(let receiver): outlets.announce(to: receiver)
        case .retire(let receiver): outlets.retire(to: receiver)
        case .recall(let receiver): packets.tellRecalls(to: receiver)
        case .request(let count, let outlet): outlets.request(count, for: outlet, in: store)
        case .flush(let name): flushes.append(name)
        case .setAside(let number): store?.packets.setAside(number)
        case .ended(let number, let end):
            if end == .stored || packets.acceptReturn(number) { take(number, end, store) }
        case .unreadable(let number):
            if packets.acceptReturn(number) { returns.addUnreadable(number) }
        }
    }

    private func take(_ number: Int64, _ end: PacketEnd, _ store: OpenStore?) {
        switch end {
        case .stored: returns.acknowledge(number)
        case .recalled: returns.addRecalled(number)
        case .relane: returns.relane(number)
        case .isolate(let reason): isolations.add(number, because: reason)
        case .discard(let reason): discards.add(number, because: reason)
        case .postpone:
            // Nothing of this is on the disk: a store that opens again finds a packet that delivery
            // does not hold.
            packets.takeBack([number])
            store?.packets.postpone(number)
        }
    }

    // MARK: - A transaction

    /// Applies the packets that delivery gave back, except for lanes.
    func applyReturns(
        to store: OpenStore,
        _ configuration: QueueConfiguration,
        _ room: DiskRoom
    ) throws(SQLiteError) {
        try returns.apply(to: store, packets, &losses)
        try discards.drop(in: store)
        let here = Isolations.Surroundings(
            store: store,
            configuration: configuration,
            room: room,
            packets: packets
        )
        try isolations.takeApart(in: here, &losses)
    }

    func changeLanes(in store: OpenStore) throws(SQLiteError) {
        try returns.changeLanes(in: store)
    }

    /// Seals the packets that delivery asks for.
    func seal(in store: OpenStore) throws(SQLiteError) -> [SealedPacket] {
        for name in flushes { store.streams.flush(name) }
        return receiver == nil ? [] : try store.handOver.packets(for: outlets.demand)
    }

    /// Called after the transaction is durable: the requests are done.
    func settle(_ sealed: [SealedPacket], in store: OpenStore) {
        relaneCount += returns.settle(packets)
        flushes.removeAll(keepingCapacity: true)
        packets.takeBack(isolations.settle())
        packets.takeBack(discards.settle())
        for packet in sealed {
            packets.handOver(packet)
            outlets.met(packet.stream.outlet)
            // A packet that was sealed before changes nothing else of its destination.
            store.destinations[packet.stream.destination]?.note()
        }
    }

    /// Comes last, so that delivery already knows everything else.
    func handOver(_ sealed: [SealedPacket]) {
        if !sealed.isEmpty { receiver?(sealed) }
    }

    func announceChanges(in store: OpenStore) { outlets.announceChanges(in: store) }
    func announceDiscards() { discards.announce() }

    /// Called when no transaction can run.
    func pause() { isolations.pause() }

    /// Called after a store was opened.
    func opened(_ store: OpenStore) {
        isolations.tryAgain()
        outlets.compare(with: store)
    }

    // MARK: - Expiry

    private static let expiryTime = Duration.milliseconds(8)

    /// Drops expired logs in a separate transaction of bounded time. After an outage of days they
    /// may be most of the queue, and appends continue between these transactions.
    func expireSome(in store: OpenStore) throws(SQLiteError) {
        let deadline = Moment.now + Self.expiryTime
        var isolated: Set<Int64> = []
        while Moment.now < deadline, let number = store.expiry.nextPacket() {
            if let waitsForRoom = isolations.waitsForRoom(number) {
                // Delivery has already given the packet up, so it would not ask for its content.
                let outlet = store.packets[number]?.stream.outlet
                guard try losses.expire(number, in: store) else { continue }
                if waitsForRoom { outlet?.roomWaiters -= 1 }
                isolated.insert(number)
            } else if packets.isHeld(number) {
                packets.recall(number)
            } else {
                _ = try losses.expire(number, in: store)
            }
        }
        losses.note(expired: try store.expiry.expire(until: deadline))
        while store.letters.hasExpired, Moment.now < deadline {
            losses.note(expiredLetters: try store.letters.expire())
        }
        packets.tellRecalls()
        try store.commit()
        isolations.remove(isolated)
        packets.takeBack(isolated)
    }
}
