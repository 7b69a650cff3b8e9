import Queue
import SQLite
import System

extension OpenStore {
    /// Seals and gathers packets to hand over after the commit, of each outlet as many as are asked for. Looks only at
    /// outlets to which something happened.
    func packets(for demand: Demand) throws(SQLiteError) -> [SealedPacket] {
        var gathered: [SealedPacket] = []
        let time = now()
        for outlet in dirty.takeOutlets(time) {
            let wanted = demand.byOutlet[outlet.name] ?? 0
            if wanted > 0, outlet.mayGive(time) {
                for _ in 0..<wanted {
                    guard let packet = try nextPacket(of: outlet, time) else { break }
                    gathered.append(packet)
                }
            }
            // Where no lane is free the next acknowledgement is waited for, not the time.
            let waitsForTime = wanted > 0 && outlet.hasFreeLane
            dirty.looked(outlet, due: waitsForTime ? outlet.nextDue : nil)
        }
        return gathered
    }

    /// Delivery asks for packets of the outlet.
    func noteDemand(for name: Outlet) {
        guard let destination = destinations[name.destination] else { return }
        destination.note()
        destination.outlets[name.logstore]?.note()
    }

    /// Pieces of refused packets and all others in turn: who sends bad logs must not hold up the good ones.
    private func nextPacket(
        of outlet: QueuedOutlet,
        _ time: WallTime
    ) throws(SQLiteError) -> SealedPacket? {
        if !outlet.gavePiece, let piece = nextPiece(of: outlet) { return piece }
        outlet.gavePiece = false
        return try nextWhole(of: outlet, time) ?? nextPiece(of: outlet)
            ?? nextSealed { outlet.postponed.popFirst() }
    }

    private func nextPiece(of outlet: QueuedOutlet) -> SealedPacket? {
        let piece = nextSealed { outlet.nextPiece() }
        if piece != nil { outlet.gavePiece = true }
        return piece
    }

    /// Of packets that were sealed before, the next one that is still here.
    private func nextSealed(_ next: () -> Int64?) -> SealedPacket? {
        while let number = next() {
            guard let packet = packets[number] else { continue }
            packets[number]?.wasHandedOver = true
            return SealedPacket(packet, recent: nil)
        }
        return nil
    }

    /// Packets of an earlier life first, then from ripe streams in turn.
    private func nextWhole(
        of outlet: QueuedOutlet,
        _ time: WallTime
    ) throws(SQLiteError) -> SealedPacket? {
        if let packet = nextSealed({ outlet.sealedBefore.popFirst() }) { return packet }
        guard outlet.hasFreeLane, let stream = outlet.nextRipe(time) else { return nil }
        let packet = try seal(stream, time)
        packets[packet.number]?.wasHandedOver = true
        outlet.lastSealed = time
        outlet.schedule(stream, time)
        return packet
    }

    /// When the next stream comes of age that somebody asks for.
    var nextDue: WallTime? { dirty.nextDue }
}
