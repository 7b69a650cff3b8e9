import Logs
import Queue
import System
import TestSupport

/// A queue in memory that keeps the protocol's promises: packets only on request, each one until it
/// is given back; outlets announced before their packets; what is isolated comes again in halves.
final class MemorySource: PacketSource {
    struct State {
        var offered: [SealedPacket] = []
        var known: Set<Outlet> = []
        var credit: [Outlet: Int] = [:]
        /// All that was ever asked for, by outlet.
        var asked: [Outlet: Int] = [:]
        var receiver: (@Sendable (DeliveryNews) -> Void)?
        /// Packets that are wanted back, and those that were given back.
        var recalls: Set<Int64> = []
        var givenBack: [Int64] = []
        var blocks: [Int64: [StoredBlock]] = [:]
        var packets: [Int64: SealedPacket] = [:]
        var acknowledged: [Int64] = []
        var isolated: [(packet: Int64, reason: DeathReason)] = []
        var discarded: [(packet: Int64, reason: DeathReason)] = []
        var relaned: [Int64] = []
        /// Logs that died alone.
        var dead: [(log: [UInt8], reason: DeathReason)] = []
        /// Packets that are neither stored nor given back.
        var unsettled: Set<Int64> = []
        var handedOver = 0
        var setAside = 0
        var postponed = 0
        var reads = 0
        var nextNumber: Int64 = 1_000_000
        /// Reads that fail, as on a bad disk.
        var failingReads = 0
    }

    let state: SharedValue<State>
    /// Whether packets bring their content along.
    let isRecent: Bool

    init(isRecent: Bool = true) {
        state = SharedValue(State())
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
        lost: Bool = false,
        lane: Lane? = nil,
        isRecovered: Bool = false
    ) {
        let logs = (0..<rows).map { Samples.logList(seed: Int(number) * 100 + $0) }
        let stream = StreamKey(destination: destination, logstore: logstore, trailer: trailer)
        var blocks = logs.map(Self.block)
        if damaged {
            blocks[0] = StoredBlock(compressed: [0xFF, 0xFF], rawBytes: blocks[0].rawBytes)
        }
        put(
            number,
            stream,
            blocks,
            logCount: rows * Samples.logsPerRow,
            isLost: lost,
            lane: lane,
            isRecovered: isRecovered
        )
    }

    /// Puts a packet in the queue; true when it is stored, as the only one so far.
    func offerAndWait(_ number: Int64) -> Bool {
        offer(number)
        return state.wait { $0.acknowledged == [number] }
    }

    /// Puts a packet in the queue that has just these logs.
    func offer(
        _ number: Int64,
        logs: [[UInt8]],
        to destination: String = "app",
        logstore: String = "app-log",
        isReplayed: Bool = false
    ) {
        let stream = StreamKey(
            destination: destination,
            logstore: logstore,
            trailer: GroupTrailer(topic: "t")
        )
        put(
            number,
            stream,
            [Self.block(logs)],
            logCount: logs.count,
            isReplayed: isReplayed
        )
    }

    private static func block(_ logs: [[UInt8]]) -> StoredBlock {
        let raw = logs.flatMap(\.self)
        return StoredBlock(compressed: LZ4.compress(raw), rawBytes: raw.count)
    }

    private func put(
        _ number: Int64,
        _ stream: StreamKey,
        _ blocks: [StoredBlock],
        logCount: Int,
        isLost: Bool = false,
        lane: Lane? = nil,
        isRecovered: Bool = false,
        isReplayed: Bool = false,
        first: Bool = false
    ) {
        let rows = Int64(blocks.count)
        let packet = SealedPacket(
            id: .home(number),
            stream: stream,
            streamID: .any,
            packID: "0123456789ABCDEF-\(number)",
            rows: number * 100...number * 100 + rows - 1,
            logCount: logCount,
            rawBytes: blocks.reduce(0) { $0 + $1.rawBytes },
            oldest: .now,
            recent: isRecent && !isLost ? blocks : nil,
            lane: lane,
            isRecovered: isRecovered,
            isReplayed: isReplayed
        )
        state.change { state in
            state.blocks[number] = isLost ? nil : blocks
            state.packets[number] = packet
            state.unsettled.insert(number)
            state.offered.insert(packet, at: first ? 0 : state.offered.count)
        }
        announce(stream.outlet)
        handOver()
    }

    func post(_ request: DeliveryRequest) {
        switch request {
        case .connect(let receiver):
            let known = state.change { state in
                state.receiver = receiver
                return Array(state.known)
            }
            if !known.isEmpty { receiver(.announced(known)) }
            handOver()
        case .packets(let count, let outlet):
            state.change { state in
                guard state.known.contains(outlet) else { return }
                state.credit[outlet, default: 0] += count
                state.asked[outlet, default: 0] += count
            }
            handOver()
        case .end(let id, let end):
            if let packet = state.now.packets[id.number] { take(packet, end) }
        case .setAside: state.change { $0.setAside += 1 }
        case .flush: break
        }
    }

    private func tell(_ news: DeliveryNews) { state.now.receiver?(news) }

    /// The outlet had no logs for long.
    func retire(_ outlet: Outlet) {
        state.change { state in
            state.known.remove(outlet)
            state.credit[outlet] = nil
        }
        tell(.retired([outlet]))
    }

    private func announce(_ outlet: Outlet) {
        let isNew = state.change { $0.known.insert(outlet).inserted }
        if isNew { tell(.announced([outlet])) }
    }

    /// Wants packets back; unless it is said delivery learns it when it asks for their content.
    func recall(_ numbers: Set<Int64>, of outlet: Outlet, isSaid: Bool = true) {
        state.change { $0.recalls.formUnion(numbers) }
        if isSaid { tell(.recalled([outlet: Set(numbers.map { .home($0) })])) }
    }

    /// All that waits grew too old: what was handed over is wanted back, and the rest is gone.
    func expire() {
        let recalled = state.change { state in
            let waiting = Set(state.offered.map(\.number))
            state.offered = []
            state.unsettled.subtract(waiting)
            state.recalls.formUnion(state.unsettled)
            var recalled: [Outlet: Set<PacketID>] = [:]
            for number in state.unsettled {
                guard let packet = state.packets[number] else { continue }
                recalled[packet.stream.outlet, default: []].insert(packet.id)
            }
            return recalled
        }
        if !recalled.isEmpty { tell(.recalled(recalled)) }
    }

    private func take(_ packet: SealedPacket, _ end: PacketEnd) {
        switch end {
        case .stored: settle(packet) { $0.acknowledged.append(packet.number) }
        case .isolate(let reason): isolate(packet, because: reason)
        case .discard(let reason): settle(packet) { $0.discarded.append((packet.number, reason)) }
        case .relane: relane(packet)
        case .postpone: postpone(packet)
        case .recalled: settle(packet) { $0.givenBack.append(packet.number) }
        }
    }

    private func settle(
        _ packet: SealedPacket,
        _ note: @escaping @Sendable (inout State) -> Void
    ) {
        state.change { state in
            note(&state)
            state.unsettled.remove(packet.number)
        }
    }

    func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        guard !state.now.recalls.contains(packet.number) else {
            end(packet, .recalled)
            throw QueueError(.withdrawn, "packet \(packet.number) is taken back")
        }
        if let recent = packet.recent { return recent }
        let (blocks, isFailing) = state.change { state in
            state.reads += 1
            state.failingReads -= 1
            return (state.blocks[packet.number], state.failingReads >= 0)
        }
        if isFailing { throw QueueError(.io, "the disk does not answer") }
        guard let blocks else { throw QueueError(.corrupt, "row \(packet.rows) is gone") }
        return blocks
    }

    private func isolate(_ packet: SealedPacket, because reason: DeathReason) {
        let logs = state.now.blocks[packet.number].flatMap(Self.logs) ?? []
        let isAlone = logs.count <= 1
        let middle = logs.count / 2
        let numbers = state.change { state in
            state.nextNumber += 2
            return [state.nextNumber + 1, state.nextNumber]
        }
        if !isAlone {
            for (number, half) in zip(numbers, [logs[middle...], logs[..<middle]]) {
                put(
                    number,
                    packet.stream,
                    [Self.block(Array(half))],
                    logCount: half.count,
                    isReplayed: packet.isReplayed,
                    first: true
                )
            }
        }
        state.change { state in
            state.isolated.append((packet.number, reason))
            if isAlone { state.dead += logs.map { ($0, reason) } }
            state.unsettled.remove(packet.number)
        }
    }

    /// The logs of blocks that are whole; each is shorter than 128 bytes.
    private static func logs(_ blocks: [StoredBlock]) -> [[UInt8]]? {
        var logs: [[UInt8]] = []
        for block in blocks {
            guard let raw = try? LZ4.decompress(block.compressed, rawBytes: block.rawBytes) else {
                return nil
            }
            var rest = raw[...]
            while rest.count > 1 {
                let length = 2 + Int(rest[rest.startIndex + 1])
                logs.append(Array(rest.prefix(length)))
                rest = rest.dropFirst(length)
            }
        }
        return logs
    }

    /// The packet comes again, behind all others.
    private func postpone(_ packet: SealedPacket) {
        state.change { state in
            state.postponed += 1
            state.offered.append(packet)
        }
        handOver()
    }

    /// The packet comes again in another lane.
    private func relane(_ packet: SealedPacket) {
        state.change { $0.relaned.append(packet.number) }
        let blocks = state.now.blocks[packet.number] ?? []
        let lane = Lane(key: String(repeating: "e", count: 32), sequence: 1)
        put(packet.number, packet.stream, blocks, logCount: packet.logCount, lane: lane)
    }

    private func handOver() {
        let packets = state.change { state in
            guard state.receiver != nil else { return [SealedPacket]() }
            var packets: [SealedPacket] = []
            state.offered.removeAll { packet in
                let outlet = packet.stream.outlet
                guard state.credit[outlet, default: 0] > 0 else { return false }
                state.credit[outlet, default: 0] -= 1
                packets.append(packet)
                return true
            }
            state.handedOver += packets.count
            return packets
        }
        if !packets.isEmpty { tell(.packets(packets)) }
    }
}
