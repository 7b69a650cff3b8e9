import Queue
import System

/// The shares of destinations and device keys in the streams that may wait (`queue.max_streams`).
///
/// Devices choose the tags, so one key can make any number of streams. Each destination has a
/// reserve, and each key one within each destination, where others never refuse it. Destinations,
/// and the keys of each, share the rest as `FairShare` says.
///
/// The key that made a stream is known only in memory. After a restart the existing streams count
/// only for their destination. So a key may take its reserve once more, and of the rest no more
/// than is free.
struct StreamShares {
    /// The sender of a stream. Nil is a device without a key where keys are not required.
    enum Origin: Hashable {
        case sender(String?)
        /// The stream existed before the start, or an operator replayed its logs.
        case unknown
    }

    enum Shortage: Equatable {
        case queue, destination, sender
    }

    struct Bounds: Equatable {
        var streamsMax: Int
        var destinations: Int
        var senders: Int

        /// A destination's reserve, including its keys' reserves.
        fileprivate var reserve: Int {
            FairShare(max: streamsMax, holders: destinations).reserve
        }

        /// A key's reserve in each destination. 0 if there is only one sender.
        fileprivate var senderReserve: Int { senders < 2 ? 0 : reserve / (2 * senders) }

        /// The part that destinations share: everything but the keys' reserves.
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
    /// The number of streams of each origin in each destination.
    private var held: [String: [Origin: Int]] = [:]
    /// Streams beyond the reserves of their keys.
    private var destinations: FairShares<String>
    private var senders: FairShares<Origin>

    init(_ bounds: Bounds) {
        self.bounds = bounds
        destinations = FairShares(bounds.ofDestinations)
        senders = FairShares(FairShare(max: bounds.streamsMax, holders: bounds.senders))
    }

    /// The reason why one more stream of the origin has no place in the destination.
    func shortage(_ destination: String, _ origin: Origin) -> Shortage? {
        guard all < bounds.streamsMax else { return .queue }
        let own = held[destination]?[origin] ?? 0
        let isReserved = origin != .unknown && own < bounds.senderReserve
        if isReserved { return nil }
        guard destinations.hasPlace(destination) else {
            return bounds.destinations < 2 ? .queue : .destination
        }
        guard bounds.senders >= 2, origin != .unknown else { return nil }
        let beyond = own - bounds.senderReserve
        return beyond < destinations.room(destination) && senders.hasPlace(origin) ? nil : .sender
    }

    /// True if the origin has used less than half of the streams that it could have there.
    func hasAmpleRoom(_ destination: String, _ origin: Origin) -> Bool {
        let room = min(bounds.streamsMax - all, destinations.room(destination))
        guard destinations.own(destination) < room else { return false }
        return bounds.senders < 2 || origin == .unknown
            || (held[destination]?[origin] ?? 0) < min(room, senders.room(origin))
    }

    mutating func take(_ destination: String, _ origin: Origin) {
        let own = held[destination, default: [:]][origin, default: 0]
        held[destination, default: [:]][origin] = own + 1
        all += 1
        senders.take(origin)
        if origin == .unknown || own >= bounds.senderReserve { destinations.take(destination) }
    }

    mutating func giveBack(_ destination: String, _ origin: Origin) {
        guard let own = held[destination]?[origin] else { return }
        held[destination]?[origin] = own > 1 ? own - 1 : nil
        if held[destination]?.isEmpty == true { held[destination] = nil }
        all -= 1
        senders.giveBack(origin)
        if origin == .unknown || own > bounds.senderReserve { destinations.giveBack(destination) }
    }

    /// Continues with other bounds. Holders above their new bound keep their streams.
    mutating func change(to new: Bounds) {
        guard new != bounds else { return }
        bounds = new
        senders.change(to: FairShare(max: new.streamsMax, holders: new.senders))
        var beyond = FairShares<String>(new.ofDestinations)
        for (destination, origins) in held {
            for (origin, own) in origins {
                let reserve = origin == .unknown ? 0 : new.senderReserve
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
