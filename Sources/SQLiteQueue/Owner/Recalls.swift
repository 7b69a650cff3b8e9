import Queue
import System

/// Packets that delivery holds and is to give back instead of sending them again: they grew too old, or go
/// elsewhere. It is told, and once more when it asks for the content of one, which it does before each attempt; so it
/// never gives one back while one is under way.
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

extension QueueOwner {
    /// Delivery has the packet for that outlet.
    func recall(_ number: Int64, _ outlet: Outlet) {
        door.recalls.insert(number)
        recallsUnsaid[outlet, default: []].insert(number)
    }

    /// A store was opened: packets that delivery holds may be gone, or go elsewhere.
    func compareHanded(with store: OpenStore) {
        for (number, packet) in handed {
            if let stored = store.packets[number] {
                // Delivery has it under a name that holds no more.
                if stored.stream.outlet.name != packet.outlet { recall(number, packet.outlet) }
            } else if !store.remainders.contains(where: { $0.mayHave(packet: number) }) {
                takenBack([number])
                takenApart[number] = packet.place
            }
        }
        sayRecalls()
    }

    /// While an outlet may not send it asks for no content, and would keep its packets for as long.
    func sayRecalls() {
        guard !recallsUnsaid.isEmpty else { return }
        recallReceiver?(recallsUnsaid)
        recallsUnsaid.removeAll()
    }
}
