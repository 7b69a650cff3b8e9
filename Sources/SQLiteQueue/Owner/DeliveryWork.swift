import Queue
import SQLite
import System

/// The owner's work for delivery: the packets that delivery asks for, holds and gives back.
final class DeliveryWork {
    private let handle: QueueHandle
    let packets: PacketsInDelivery
    private var receiver: (@Sendable (DeliveryNews) -> Void)?
    var outlets = OutletAnnouncer()
    private(set) var returns = PacketReturns()
    var isolations: Isolations
    var discards: Discards
    /// Destinations to seal without waiting for size or age.
    private var flushes: [String] = []
    var losses = TransactionLosses()
    private(set) var relaneCount = 0

    init(_ handle: QueueHandle, _ journal: Journal) {
        self.handle = handle
        packets = PacketsInDelivery(handle.recalls)
        isolations = Isolations(journal)
        discards = Discards(journal)
    }

    /// True if delivery is connected and asks for packets.
    var isAsking: Bool { receiver != nil }

    // MARK: - Messages

    func take(_ request: DeliveryRequest, _ store: OpenStore?) {
        switch request {
        case .connect(let receiver):
            self.receiver = receiver
            packets.receiver = receiver
            outlets.announce(to: receiver)
        case .packets(let count, let outlet): outlets.request(count, for: outlet, in: store)
        case .flush(let name): flushes.append(name)
        case .setAside(let id): store?.packets.setAside(handle.number(of: id))
        case .end(let id, let end):
            let number = handle.number(of: id)
            if end == .stored || packets.acceptReturn(number) { take(number, end, store) }
        }
    }

    func takeUnreadable(_ number: Int64) {
        if packets.acceptReturn(number) { returns.unreadable.insert(number) }
    }

    private func take(_ number: Int64, _ end: PacketEnd, _ store: OpenStore?) {
        switch end {
        case .stored: returns.acknowledged.append(number)
        case .recalled: returns.recalled.insert(number)
        case .relane: returns.relaned.insert(number)
        case .isolate(let reason): isolations.add(number, because: reason)
        case .discard(let reason): discards.add(number, because: reason)
        case .postpone:
            // Nothing of this is on the disk: after a reopening delivery does not hold the packet.
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
        let here = Isolations.Context(
            store: store,
            configuration: configuration,
            room: room,
            packets: packets
        )
        try isolations.takeApart(in: here, &losses)
    }

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
            outlets.demand.meet(packet.stream.outlet)
            // A packet that was sealed before changes nothing else of its destination.
            store.destinations[packet.stream.destination]?.note()
        }
    }

    /// Comes last, so that delivery already knows everything else.
    func handOver(_ sealed: [SealedPacket]) {
        if !sealed.isEmpty { receiver?(.packets(sealed)) }
    }

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

/// Packets that delivery has given back, until a transaction has processed them.
struct PacketReturns {
    var acknowledged: [Int64] = []
    var unreadable: Set<Int64> = []
    /// Packets that delivery knows to be recalled.
    var recalled: Set<Int64> = []
    /// Packets whose sequence numbers SLS has seen.
    var relaned: Set<Int64> = []

    /// Processes them in the current transaction, except for lanes.
    func apply(
        to store: OpenStore,
        _ packets: PacketsInDelivery,
        _ losses: inout TransactionLosses
    ) throws(SQLiteError) {
        for number in acknowledged {
            try store.acknowledgements.acknowledge(number, at: packets.place(of: number)) {
                packets.isHeld($0)
            }
        }
        for number in unreadable where try !losses.expire(number, in: store) {
            losses.note(damaged: try store.packets.mend(number), in: number)
        }
        // These are too old, or were handed over for another logstore.
        for number in recalled where try !losses.expire(number, in: store) {
            store.packets[number]?.stream.outlet.sealedBefore.append(number)
        }
    }

    func changeLanes(in store: OpenStore) throws(SQLiteError) {
        for number in relaned { try store.packets.relane(number) }
    }

    /// Called after the commit: delivery no longer holds any of them. Returns the packets with new
    /// lanes.
    mutating func settle(_ packets: PacketsInDelivery) -> Int {
        packets.takeBack(acknowledged)
        packets.takeBack(unreadable)
        packets.takeBack(recalled)
        packets.takeBack(relaned)
        acknowledged.removeAll(keepingCapacity: true)
        unreadable.removeAll(keepingCapacity: true)
        recalled.removeAll(keepingCapacity: true)
        defer { relaned.removeAll() }
        return relaned.count
    }
}

extension TransactionLosses {
    /// Drops a packet's rows that are too old; delivery must not hold it. Returns false without
    /// any.
    mutating func expire(_ number: Int64, in store: OpenStore) throws(SQLiteError) -> Bool {
        guard let name = store.packets[number]?.stream.key.destination else { return false }
        let logs = try store.expiry.expire(packet: number)
        if logs > 0 { note(expired: [name: logs]) }
        return logs > 0
    }
}

/// Logs that leave in the current transaction undelivered. Reported and counted after the commit.
struct TransactionLosses {
    private(set) var expired: [String: Int] = [:]
    private(set) var expiredLetters: [String: Int] = [:]
    private(set) var damaged: [(packet: Int64, logs: Int)] = []

    mutating func note(expired logs: [String: Int]) { expired.merge(logs) { $0 + $1 } }

    mutating func note(expiredLetters letters: [String: Int]) {
        expiredLetters.merge(letters) { $0 + $1 }
    }

    mutating func note(damaged logs: Int, in packet: Int64) {
        if logs > 0 { damaged.append((packet, logs)) }
    }

    /// Called after the commit. Returns the number of logs that damage has cost.
    mutating func settle(_ announcer: inout QueueAnnouncer, _ journal: Journal) -> Int {
        announcer.note(expired: expired, letters: expiredLetters)
        for (packet, logs) in damaged {
            journal.error(
                "logs changed on the disk and are discarded",
                ["packet": packet, "logs": logs]
            )
        }
        defer { self = TransactionLosses() }
        return damaged.reduce(0) { $0 + $1.logs }
    }
}

/// Refused packets that are dropped on the operator's wish, and their logs since the start.
struct Discards {
    struct Sum: Equatable {
        var logs = 0
        var last: DeathReason
    }

    private let journal: Journal
    private var waiting: [(number: Int64, reason: DeathReason)] = []
    /// Packets that the current transaction dropped.
    private var dropped: [(destination: String, logs: Int, reason: DeathReason)] = []
    private var sums: [String: Sum] = [:]
    private var untoldLogs = 0
    private var pause = JournalPause()

    init(_ journal: Journal) {
        self.journal = journal
    }

    mutating func add(_ number: Int64, because reason: DeathReason) {
        waiting.append((number, reason))
    }

    func sum(of destination: String) -> Sum? { sums[destination] }

    mutating func drop(in store: OpenStore) throws(SQLiteError) {
        dropped.removeAll()
        for (number, reason) in waiting {
            let name = store.packets[number]?.stream.key.destination
            let logs = try store.packets.discard(number)
            if let name { dropped.append((name, logs, reason)) }
        }
    }

    /// Called after the transaction is durable. Returns the packets that delivery no longer holds.
    mutating func settle() -> [Int64] {
        guard !waiting.isEmpty else { return [] }
        for (name, logs, reason) in dropped {
            sums[name, default: Sum(last: reason)].logs += logs
            sums[name]?.last = reason
            untoldLogs += logs
        }
        dropped.removeAll()
        defer { waiting.removeAll() }
        return waiting.map(\.number)
    }

    /// Reports once a minute the number of dropped logs and the latest codes.
    mutating func announce() {
        guard untoldLogs > 0, pause.tryStart() else { return }
        journal.warning(
            "logs are discarded: the configuration drops refused packets",
            [
                "logs": untoldLogs,
                "codes": Set(sums.values.map(\.last.code)).sorted().joined(separator: ","),
                "remedy": "see the destination's status, or set drop_unauthorized to false",
            ]
        )
        untoldLogs = 0
    }
}
