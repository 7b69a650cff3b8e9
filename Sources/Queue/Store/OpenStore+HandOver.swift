import System

extension OpenStore {
    /// Seals and gathers packets to hand over after the commit, of each outlet as many as are asked for.
    func packets(for demand: Demand) throws(SQLiteError) -> [SealedPacket] {
        var gathered: [SealedPacket] = []
        let time = now()
        // Of many outlets most have nothing to give, and to ask each by its name would cost more than to look.
        for destination in destinations.values where demand.totals[destination.name] ?? 0 > 0 {
            for outlet in destination.outlets.values where outlet.mayGive(time) {
                for _ in 0..<(demand.byOutlet[outlet.name] ?? 0) {
                    guard let packet = try nextPacket(of: outlet, time) else { break }
                    gathered.append(packet)
                }
            }
        }
        return gathered
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
    func nextDue(_ demand: Demand) -> WallTime? {
        var due: WallTime?
        for destination in destinations.values where demand.totals[destination.name] ?? 0 > 0 {
            for outlet in destination.outlets.values {
                // Where no lane is free the next acknowledgement is waited for, not the time.
                guard let time = outlet.nextDue, due.map({ time < $0 }) ?? true,
                    demand.byOutlet[outlet.name] ?? 0 > 0, outlet.hasFreeLane
                else { continue }
                due = time
            }
        }
        return due
    }
}
