import System

extension Salvage {
    /// Keeps the packets whose rows are all there. Rows of the others that lie before the last packet
    /// of their stream go into new packets with new ids; those behind it wait again.
    mutating func savePackets() throws(SQLiteError) {
        var kept: [Int64: [PacketRecord]] = [:]
        for packet in packets {
            let sums = try saved.sums(of: packet.stream, packet.rows)
            guard sums.logs == packet.logs, sums.raw == packet.raw, sums.rows > 0 else { continue }
            kept[packet.stream, default: []].append(packet)
        }
        try saved.write()
        for (stream, packets) in kept {
            for packet in packets { try saved.add(packet) }
            try sealStrays(stream, between: packets.map(\.rows))
        }
        try saved.commit()
    }

    private mutating func sealStrays(
        _ stream: Int64,
        between kept: [ClosedRange<Int64>]
    ) throws(SQLiteError) {
        var behind = kept.sorted { $0.lowerBound < $1.lowerBound }[...]
        guard let destination = streams[stream]?.destination else { return }
        let limits = configuration.rules(destination).packet
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
            if configuration.rules(destination).lanes > 0 { packet.lane = .anywhere() }
            try saved.add(packet)
            streams[stream]?.nextPack = pack + 1
            try saved.savePack(of: stream, next: pack + 1)
        }
    }
}
