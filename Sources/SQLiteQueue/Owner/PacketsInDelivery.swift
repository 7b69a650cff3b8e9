import Queue
import System

/// The packets that delivery holds, and those of them that the queue wants back.
final class PacketsInDelivery {
    private let recalls: Recalls
    private var held: [Int64: HandedPacket] = [:]
    /// Packets that delivery got and that a salvage took apart or lost, until delivery gives them back.
    private var takenApart: [Int64: PacketPlace] = [:]
    /// Recalled packets of which delivery was not told yet.
    private var untold: [Outlet: Set<Int64>] = [:]
    private var receiver: (@Sendable ([Outlet: Set<Int64>]) -> Void)?

    init(_ recalls: Recalls) {
        self.recalls = recalls
    }

    func tellRecalls(to receiver: @escaping @Sendable ([Outlet: Set<Int64>]) -> Void) {
        self.receiver = receiver
    }

    var numbers: Set<Int64> { Set(held.keys) }

    func isHeld(_ number: Int64) -> Bool { held[number] != nil }

    /// The outlet that the packet was handed over for; nil when delivery does not hold it.
    func outlet(of number: Int64) -> Outlet? { held[number]?.outlet }

    /// Where the rows of a packet lie that delivery holds, or held before a salvage took it apart.
    func place(of number: Int64) -> PacketPlace? { held[number]?.place ?? takenApart[number] }

    /// The commit that sealed it is durable.
    func handOver(_ packet: SealedPacket) {
        assert(held[packet.number] == nil, "delivery has the packet already")
        held[packet.number] = HandedPacket(packet)
    }

    /// Delivery gives a packet back without an acknowledgement. False when it does not hold it: told twice, a packet must
    /// not be handed over twice.
    func isGivenBack(_ number: Int64) -> Bool {
        takenApart[number] = nil
        return held[number] != nil
    }

    /// Delivery holds them no more.
    func takeBack(_ numbers: some Sequence<Int64>) {
        for number in numbers {
            held[number] = nil
            takenApart[number] = nil
        }
        recalls.remove(numbers)
    }

    // MARK: - Recalls

    /// Asks delivery to give back a packet that it holds.
    func recall(_ number: Int64) {
        guard let outlet = held[number]?.outlet else { return }
        recalls.insert(number)
        untold[outlet, default: []].insert(number)
    }

    /// A store was opened: packets that delivery holds may be gone, or go elsewhere.
    func compare(with store: OpenStore) {
        for (number, packet) in held {
            if let stored = store.packets[number] {
                // Delivery has it under a name that holds no more.
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

    /// While an outlet may not send it asks for no content, and would keep its packets for as long.
    func tellRecalls() {
        guard !untold.isEmpty else { return }
        receiver?(untold)
        untold.removeAll()
    }

    /// No salvage left packets that delivery still has to give back.
    var areAllWhole: Bool { takenApart.isEmpty }
}

/// Packets that delivery holds and is to give back instead of sending them again: they grew too old, or go elsewhere. It
/// is told, and once more when it asks for the content of one, which it does before each attempt; so it never gives one
/// back while one is under way.
final class Recalls: Sendable {
    private let numbers = Locked<Set<Int64>>([])

    func insert(_ number: Int64) {
        numbers.withLock { _ = $0.insert(number) }
    }

    func contains(_ number: Int64) -> Bool {
        numbers.withLock { $0.contains(number) }
    }

    /// Delivery does not hold them any more.
    func remove(_ back: some Sequence<Int64>) {
        numbers.withLock { numbers in
            guard !numbers.isEmpty else { return }
            for number in back { numbers.remove(number) }
        }
    }
}
