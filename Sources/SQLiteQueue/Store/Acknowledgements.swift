import Queue
import SQLite

/// Removes stored packets, including ones that a salvage split or has not copied yet.
final class Acknowledgements: StreamPart {
    let streams: StreamBook
    private let packets: PacketBook
    private let waiting: WaitingRows
    /// The content of damaged databases that is not copied yet. The ledgers count it.
    private(set) var remainders: [Remainder] = []

    init(_ packets: PacketBook, _ waiting: WaitingRows) {
        streams = packets.streams
        self.packets = packets
        self.waiting = waiting
    }

    /// Removes a packet that its destination has stored. One that is not here was acknowledged
    /// before, or a salvage has not copied it yet or has split it; then its rows lie at `place`,
    /// unless delivery holds them in another packet.
    func acknowledge(
        _ number: Int64,
        at place: PacketPlace? = nil,
        isHeld: (Int64) -> Bool = { _ in false }
    ) throws(SQLiteError) {
        guard let packet = packets[number] else {
            try acknowledgeAside(number, at: place)
            if let place { try acknowledgeRows(at: place, isHeld) }
            return
        }
        let stream = packet.stream
        // A packet that waited for this one can now be judged.
        if let number = stream.outlet.postponed.popFirst() {
            stream.outlet.sealedBefore.append(number)
        }
        try packets.removeDelivered(packet)
        stream.destination.count(packet.record.logs, packet.record.raw, .delivered)
        try destinations.prove(stream.outlet)
        try streams.rest(stream)
    }

    /// Records a packet whose rows no salvage may copy any more.
    private func acknowledgeAside(_ number: Int64, at place: PacketPlace?) throws(SQLiteError) {
        let isAside = remainders.contains { remainder in
            place == nil ? remainder.mayHave(packet: number) : remainder.mayHaveRows(of: number)
        }
        guard isAside else { return }
        // A second acknowledgement does not know the place, which the first one saved.
        if place == nil {
            let known = try QueueDatabase.acknowledgedAside(database.connection)
            guard known[number] == nil else { return }
        }
        try database.write()
        try database.saveAcknowledgedAside(number, place ?? .unknown)
    }

    /// Removes rows that a salvage copied one by one from a packet that the destination has stored.
    private func acknowledgeRows(
        at place: PacketPlace,
        _ isHeld: (Int64) -> Bool
    ) throws(SQLiteError) {
        guard let stream = streams.every.first(where: { $0.id == place.stream }) else { return }
        let sealed = packets.all.filter { packet in
            packet.stream === stream && packet.record.rows.overlaps(place.rows)
                && !isHeld(packet.record.number)
        }
        for packet in sealed {
            let (logs, raw) = try packets.removeRows(of: packet) { place.rows.contains($0.id) }
            stream.destination.count(logs, raw, .delivered)
        }
        var gone: [RowRecord] = []
        var next: RowRecord?
        try database.rows.visit(of: stream.id, after: stream.waiting.sealedThrough) { row in
            if place.rows.contains(row.id) {
                gone.append(row)
            } else if next == nil {
                next = row
            }
            return row.id < place.rows.upperBound || next == nil
        }
        if !gone.isEmpty {
            if let next { stream.waiting.setOldest(min(ages.begin(next), now())) }
            let (logs, raw) = try waiting.remove(gone, of: stream)
            stream.destination.count(logs, raw, .delivered)
        }
        try streams.rest(stream)
    }

    // MARK: - Damaged databases

    /// At a start: reads the remainders of earlier salvages.
    func recover() throws(SQLiteError) {
        remainders = try QueueDatabase.remainders(database.connection)
    }

    /// The destination's logs and dead letters in damaged databases that are not copied yet.
    func aside(of destination: String) -> (queued: Int64, dead: Int64) {
        remainders.reduce((0, 0)) { sum, remainder in
            (
                sum.0 + (remainder.queued[destination] ?? 0),
                sum.1 + (remainder.dead[destination] ?? 0)
            )
        }
    }
}
