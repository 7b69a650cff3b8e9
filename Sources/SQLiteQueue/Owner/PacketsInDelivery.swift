import Queue
import System

/// The packets that delivery holds, and the recalled ones among them.
final class PacketsInDelivery {
    private let recalls: Recalls
    private var held: [Int64: HandedPacket] = [:]
    /// Packets that delivery got and that a salvage split or lost, until delivery gives them back.
    private var takenApart: [Int64: PacketPlace] = [:]
    /// Recalled packets that delivery was not told about yet.
    private var untold: [Outlet: Set<PacketID>] = [:]
    var receiver: (@Sendable (DeliveryNews) -> Void)?

    init(_ recalls: Recalls) {
        self.recalls = recalls
    }

    var numbers: Set<Int64> { Set(held.keys) }

    func isHeld(_ number: Int64) -> Bool { held[number] != nil }

    /// The outlet that the packet was handed over for. Nil if delivery does not hold it.
    func outlet(of number: Int64) -> Outlet? { held[number]?.outlet }

    /// The place of the rows of a packet that delivery holds, or held before a salvage split it.
    func place(of number: Int64) -> PacketPlace? { held[number]?.place ?? takenApart[number] }

    func handOver(_ packet: SealedPacket) {
        assert(held[packet.number] == nil, "delivery has the packet already")
        held[packet.number] = HandedPacket(packet)
    }

    /// Delivery gives a packet back unacknowledged. Returns false if it does not hold the packet:
    /// after a second message the packet must not be handed over twice.
    func acceptReturn(_ number: Int64) -> Bool {
        takenApart[number] = nil
        return held[number] != nil
    }

    func takeBack(_ numbers: some Sequence<Int64>) {
        for number in numbers {
            held[number] = nil
            takenApart[number] = nil
        }
        recalls.remove(numbers)
    }

    // MARK: - Recalls

    func recall(_ number: Int64) {
        guard let packet = held[number] else { return }
        recalls.insert(number)
        untold[packet.outlet, default: []].insert(PacketID(shard: packet.shard, number: number))
    }

    func recallAll() {
        for number in held.keys { recall(number) }
        tellRecalls()
    }

    /// Called after a store was opened: packets may be gone or belong to another logstore.
    func compare(with store: OpenStore) {
        for (number, packet) in held {
            if let stored = store.packets[number] {
                // Delivery holds it under a name that is no longer valid.
                if stored.stream.outlet.name != packet.outlet { recall(number) }
            } else if !store.acknowledgements.remainders.contains(where: {
                $0.mayHave(packet: number)
            }) {
                takeBack([number])
                takenApart[number] = packet.place
            }
        }
        tellRecalls()
    }

    /// Tells delivery of recalls: an outlet that may not send would otherwise keep its packets.
    func tellRecalls() {
        guard !untold.isEmpty else { return }
        receiver?(.recalled(untold))
        untold.removeAll()
    }

    /// True if delivery has given back all packets that salvages split.
    var areAllWhole: Bool { takenApart.isEmpty }
}

/// Packets that delivery must give back instead of sending them again: too old, or now of another
/// logstore. Delivery gets a message, and an error when it asks for a packet's content before each
/// attempt, so it never gives a packet back while an attempt is in flight.
final class Recalls: Sendable {
    private let numbers = Locked<Set<Int64>>([])

    func insert(_ number: Int64) {
        numbers.withLock { _ = $0.insert(number) }
    }

    func contains(_ number: Int64) -> Bool {
        numbers.withLock { $0.contains(number) }
    }

    func remove(_ back: some Sequence<Int64>) {
        numbers.withLock { numbers in
            guard !numbers.isEmpty else { return }
            for number in back { numbers.remove(number) }
        }
    }
}
