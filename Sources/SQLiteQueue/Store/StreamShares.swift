import Queue
import System

/// How destinations and device keys share the streams that may wait (`queue.max_streams`).
///
/// Devices choose the tags, so one key can make as many streams as it likes. Each destination has a reserve, and so has
/// each key within each destination; what is beyond the reserves is shared as `FairShare` says, by the destinations and by
/// the keys of each. A key within its reserve is never refused for what others have, nor is a destination.
///
/// Which key made a stream is known in memory only. After a restart the streams of before belong to no key: they count
/// for their destination, so a key may take its reserve once more, and of the rest no more than is free.
struct StreamShares {
    /// Who made a stream, as the device handler names it: nil is a device without a key where keys are not asked for.
    enum Maker: Hashable {
        case sender(String?)
        /// It was here before the start, or an operator replayed it.
        case unknown
    }

    /// Whose share is used up.
    enum Shortage: Equatable {
        case queue, destination, sender
    }

    /// What holds for all.
    struct Bounds: Equatable {
        var streamsMax: Int
        var destinations: Int
        var senders: Int

        /// A destination's reserve, its keys' reserves included.
        fileprivate var reserve: Int {
            FairShare(max: streamsMax, holders: destinations).reserve
        }

        /// A key's reserve in each destination; none where all senders are one.
        fileprivate var senderReserve: Int { senders < 2 ? 0 : reserve / (2 * senders) }

        /// What destinations share: everything but the keys' reserves.
        fileprivate var ofDestinations: FairShare {
            FairShare(
                max: streamsMax,
                reserve: reserve - (senders < 2 ? 0 : senders * senderReserve),
                open: FairShare(max: streamsMax, holders: destinations).open,
                holders: destinations
            )
        }
    }

    private(set) var bounds: Bounds
    private var all = 0
    /// Streams of each maker in each destination.
    private var held: [String: [Maker: Int]] = [:]
    /// Those beyond the reserves of their keys.
    private var destinations: FairShares<String>
    private var senders: FairShares<Maker>

    init(_ bounds: Bounds) {
        self.bounds = bounds
        destinations = FairShares(bounds.ofDestinations)
        senders = FairShares(FairShare(max: bounds.streamsMax, holders: bounds.senders))
    }

    /// Why one more stream of the maker has no place in the destination, after `more` others of the same request.
    func shortage(_ destination: String, _ maker: Maker) -> Shortage? {
        guard all < bounds.streamsMax else { return .queue }
        let own = held[destination]?[maker] ?? 0
        let isReserved = maker != .unknown && own < bounds.senderReserve
        if isReserved { return nil }
        guard destinations.hasPlace(destination) else {
            return bounds.destinations < 2 ? .queue : .destination
        }
        guard bounds.senders >= 2, maker != .unknown else { return nil }
        let beyond = own - bounds.senderReserve
        return beyond < destinations.room(destination) && senders.hasPlace(maker) ? nil : .sender
    }

    /// The maker has used less than half of what it could have there.
    func hasAmpleRoom(_ destination: String, _ maker: Maker) -> Bool {
        let room = min(bounds.streamsMax - all, destinations.room(destination))
        guard destinations.own(destination) < room else { return false }
        return bounds.senders < 2 || maker == .unknown
            || (held[destination]?[maker] ?? 0) < min(room, senders.room(maker))
    }

    mutating func take(_ destination: String, _ maker: Maker) {
        let own = held[destination, default: [:]][maker, default: 0]
        held[destination, default: [:]][maker] = own + 1
        all += 1
        senders.take(maker)
        if maker == .unknown || own >= bounds.senderReserve { destinations.take(destination) }
    }

    mutating func giveBack(_ destination: String, _ maker: Maker) {
        guard let own = held[destination]?[maker] else { return }
        held[destination]?[maker] = own > 1 ? own - 1 : nil
        if held[destination]?.isEmpty == true { held[destination] = nil }
        all -= 1
        senders.giveBack(maker)
        if maker == .unknown || own > bounds.senderReserve { destinations.giveBack(destination) }
    }

    /// Goes on with other bounds; nothing is taken from who has more than they allow.
    mutating func change(to new: Bounds) {
        guard new != bounds else { return }
        bounds = new
        senders.change(to: FairShare(max: new.streamsMax, holders: new.senders))
        var beyond = FairShares<String>(new.ofDestinations)
        for (destination, makers) in held {
            for (maker, own) in makers {
                let reserve = maker == .unknown ? 0 : new.senderReserve
                for _ in 0..<max(0, own - reserve) { beyond.take(destination) }
            }
        }
        destinations = beyond
    }
}

extension QueueConfiguration {
    var streamBounds: StreamShares.Bounds {
        StreamShares.Bounds(
            streamsMax: streamsMax,
            destinations: destinations.count,
            senders: senders
        )
    }
}
