import Queue
import System

extension OpenStore {
    /// Looks once at every stream and packet, and keeps only what is asked for: with 100,000 streams it takes a few
    /// milliseconds. Generations of a key are one stream.
    func listing(_ wish: StreamWish) -> StreamListing {
        var sealed: [Int64: SealedSum] = [:]
        for packet in packets.values {
            sealed[packet.stream.id, default: SealedSum()].add(packet.record)
        }
        var tops: [ObjectIdentifier: (name: String, top: TopStreams)] = [:]
        for newest in streams.values {
            let destination = newest.destination
            guard wish.destination ?? destination.name == destination.name,
                let candidate = TopStreams.Candidate(newest, sealed, wish.order)
            else { continue }
            tops[
                ObjectIdentifier(destination),
                default: (
                    destination.name, TopStreams(countMax: min(wish.count, StreamWish.countMax))
                )
            ].top.offer(candidate)
        }
        return StreamListing(
            Dictionary(uniqueKeysWithValues: tops.values.map { ($0.name, $0.top.listed) })
        )
    }
}

/// Packets of a stream that are sealed and not acknowledged.
struct SealedSum {
    var logs = 0
    var raw = 0
    var packets = 0
    var oldest = WallTime(nanoseconds: .max)

    mutating func add(_ packet: PacketRecord) {
        logs += packet.logs
        raw += packet.raw
        packets += 1
        oldest = min(oldest, packet.oldest)
    }
}
