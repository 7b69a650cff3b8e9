import Queue
import SQLiteQueue
import System

/// A shard of another gateway, which this one empties, and its packets that delivery holds.
///
/// Delivery requests packets of the home shard only. An adopted shard hands over a few packets per
/// outlet unasked, and the next one when one of them ends.
final class AdoptedShard: Sendable {
    /// Packets of each outlet that delivery holds at a time. They add to those that it asked for.
    static let packetsMax = 4

    let owned: OwnedShard
    private let state = Locked(State())

    private struct State {
        /// The outlets of the packets that delivery holds.
        var held: [Int64: Outlet] = [:]
        var announced: Set<Outlet> = []
        /// Destinations that this gateway has. Delivery gives packets of others back at once.
        var destinations: Set<String> = []
        /// Packets that the queue was asked for and has not handed over.
        var asked: [Outlet: Int] = [:]

        /// How many more packets to request, so that held and requested ones are `most`.
        mutating func ask(upTo most: Int, for outlet: Outlet) -> Int {
            let here = held.values.count { $0 == outlet }
            let count = max(0, most - here - asked[outlet, default: 0])
            asked[outlet, default: 0] += count
            return count
        }
    }

    init(_ owned: OwnedShard) {
        self.owned = owned
    }

    private var queue: DurableQueue { owned.queue }

    /// Begins to hand packets over. Called once.
    func deliver(
        to receiver: @escaping ShardFleet.Receiver,
        whenRetired: @escaping @Sendable ([Outlet]) -> Void
    ) {
        queue.connect { [weak self] news in
            switch news {
            case .recalled: receiver(news)
            case .packets(let packets):
                self?.handedOver(packets)
                receiver(.packets(packets.map(\.unrequested)))
            case .retired(let outlets):
                self?.state.withLock { state in
                    state.announced.subtract(outlets)
                    for outlet in outlets { state.asked[outlet] = nil }
                }
                whenRetired(outlets)
            case .announced(let outlets): self?.announced(outlets)
            }
        }
    }

    private func handedOver(_ packets: [SealedPacket]) {
        state.withLock { state in
            for packet in packets {
                let outlet = packet.stream.outlet
                state.held[packet.number] = outlet
                state.asked[outlet] = max(0, state.asked[outlet, default: 0] - 1)
            }
        }
    }

    private func announced(_ outlets: [Outlet]) {
        let wanted = state.withLock { state in
            state.announced.formUnion(outlets)
            // The queue has no requests for them yet.
            for outlet in outlets { state.asked[outlet] = 0 }
            return outlets.filter { state.destinations.contains($0.destination) }
                .map { outlet in (outlet, state.ask(upTo: Self.packetsMax, for: outlet)) }
        }
        for (outlet, count) in wanted where count > 0 { queue.request(count, for: outlet) }
    }

    /// Delivery has these destinations now.
    func use(_ destinations: Set<String>) {
        let wanted = state.withLock { state in
            let new = destinations.subtracting(state.destinations)
            state.destinations = destinations
            return state.announced.filter { new.contains($0.destination) }
                .map { outlet in (outlet, state.ask(upTo: Self.packetsMax, for: outlet)) }
        }
        for (outlet, count) in wanted where count > 0 { queue.request(count, for: outlet) }
    }

    /// Delivery holds the packet no more.
    func ended(_ number: Int64) {
        let outlet = state.withLock { state -> Outlet? in
            guard let outlet = state.held.removeValue(forKey: number),
                state.destinations.contains(outlet.destination)
            else { return nil }
            state.asked[outlet, default: 0] += 1
            return outlet
        }
        if let outlet { queue.request(1, for: outlet) }
    }

    /// The outlets of its queued packets and of the packets that delivery holds.
    var outlets: Set<Outlet> {
        state.withLock { $0.announced.union($0.held.values) }
    }
}
