import Logs
import Queue
import System

/// A queue in memory that keeps the protocol's promises: packets only on request, each one until it is
/// acknowledged.
final class MemorySource: PacketSource {
    struct State {
        var offered: [SealedPacket] = []
        var credit: [String: Int] = [:]
        var receiver: (@Sendable ([SealedPacket]) -> Void)?
        var blocks: [Int64: [StoredBlock]] = [:]
        var acknowledged: [Int64] = []
        var handedOver = 0
        var reads = 0
    }

    let state: Signpost<State>
    /// Whether packets bring their content along.
    let isRecent: Bool

    init(isRecent: Bool = true) throws {
        state = try Signpost(State())
        self.isRecent = isRecent
    }

    /// Puts a packet of so many rows in the queue; the rows of a lost one cannot be read.
    func offer(
        _ number: Int64,
        to destination: String = "app",
        logstore: String = "app-log",
        trailer: GroupTrailer = GroupTrailer(topic: "t"),
        rows: Int = 3,
        damaged: Bool = false,
        lost: Bool = false
    ) {
        let raw = (0..<rows).map { Samples.logs(seed: Int(number) * 100 + $0) }
        var blocks = raw.map { StoredBlock(compressed: LZ4.compress($0), rawBytes: $0.count) }
        if damaged { blocks[0] = StoredBlock(compressed: [0xFF, 0xFF], rawBytes: raw[0].count) }
        let packet = SealedPacket(
            number: number,
            stream: StreamKey(destination: destination, logstore: logstore, trailer: trailer),
            packID: "0123456789ABCDEF-\(number)",
            rows: number * 100...number * 100 + Int64(rows) - 1,
            logCount: rows * Samples.logsPerRow,
            rawBytes: raw.reduce(0) { $0 + $1.count },
            oldest: .now,
            recent: isRecent && !lost ? blocks : nil
        )
        let stored = lost ? nil : blocks
        state.change { state in
            state.blocks[number] = stored
            state.offered.append(packet)
        }
        handOver()
    }

    func deliver(to receiver: @escaping @Sendable ([SealedPacket]) -> Void) {
        state.change { $0.receiver = receiver }
        handOver()
    }

    func request(_ count: Int, for destination: String) {
        state.change { $0.credit[destination, default: 0] += count }
        handOver()
    }

    func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        let blocks = state.change { state in
            state.reads += 1
            return state.blocks[packet.number]
        }
        guard let blocks else { throw QueueError(.corrupt, "row \(packet.rows) is gone") }
        return blocks
    }

    func acknowledge(_ packet: SealedPacket) {
        state.change { $0.acknowledged.append(packet.number) }
    }

    func flush(_ destination: String) {}
    func announceOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {}
    func retireOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {}
    func request(_ count: Int, for outlet: Outlet) {}
    func isolate(_ packet: SealedPacket, because reason: DeathReason) {}
    func discard(_ packet: SealedPacket, because reason: DeathReason) {}
    func relane(_ packet: SealedPacket) {}

    private func handOver() {
        let (receiver, packets) = state.change { state in
            guard let receiver = state.receiver else {
                return (nil as (@Sendable ([SealedPacket]) -> Void)?, [SealedPacket]())
            }
            var packets: [SealedPacket] = []
            state.offered.removeAll { packet in
                guard state.credit[packet.stream.destination, default: 0] > 0 else { return false }
                state.credit[packet.stream.destination, default: 0] -= 1
                packets.append(packet)
                return true
            }
            state.handedOver += packets.count
            return (receiver, packets)
        }
        if let receiver, !packets.isEmpty { receiver(packets) }
    }
}
