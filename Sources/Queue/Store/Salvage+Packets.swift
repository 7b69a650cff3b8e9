import System

extension Salvage {
    /// Rows of the stream that lie before its last packet and belong to none go into new packets with new ids; those
    /// behind it wait.
    mutating func sealStrays(_ stream: Int64) throws(SQLiteError) {
        guard let known = streams[stream], !known.packets.isEmpty else { return }
        let limits = configuration.rules(known.destination).packet
        var behind = known.packets[...]
        var cuts = [PacketCut(limits)]
        try saved.rows(of: stream, after: 0) { row in
            while let first = behind.first, first.upperBound < row.id {
                behind.removeFirst()
                cuts.append(PacketCut(limits))
            }
            guard let next = behind.first else { return false }
            if !next.contains(row.id), !cuts[cuts.count - 1].take(row) {
                cuts.append(PacketCut(limits))
                _ = cuts[cuts.count - 1].take(row)
            }
            return true
        }
        for cut in cuts where !cut.rows.isEmpty {
            let pack = streams[stream]?.nextPack ?? 1
            let number = try ids.take(saved)
            guard var packet = cut.record(number: number, stream: stream, pack: pack) else {
                continue
            }
            if configuration.rules(known.destination).lanes > 0 { packet.lane = .anywhere() }
            try saved.add(packet)
            streams[stream]?.add(packet.rows)
            streams[stream]?.nextPack = pack + 1
            try saved.savePack(of: stream, next: pack + 1)
        }
    }
}
