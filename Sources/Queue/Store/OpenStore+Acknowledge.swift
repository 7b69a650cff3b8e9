extension OpenStore {
    /// Removes a packet that its destination has stored. A packet that is not here was acknowledged
    /// before, or is yet to be copied from a damaged database.
    func acknowledge(_ number: Int64) throws(SQLiteError) {
        guard let packet = packets[number] else { return try acknowledgeAside(number) }
        let stream = packet.stream
        // Now one that waited for this can be judged.
        if let number = stream.outlet.postponed.popFirst() {
            stream.outlet.sealedBefore.append(number)
        }
        try database.write()
        try database.removePacket(number)
        leave(packet, isDelivered: true)
        try removeRows(of: packet)
        let logs = Int64(packet.record.logs)
        stream.destination.change { ledger in
            ledger.delivered += logs
            ledger.queued -= logs
        }
        stream.destination.volumes.delivered += packet.record.raw
        try prove(stream.outlet)
        try rest(stream)
    }

    private func acknowledgeAside(_ number: Int64) throws(SQLiteError) {
        let isAside = remainders.contains { remainder in
            remainder.phase == .packets && remainder.through < number
                && number <= remainder.highest
        }
        guard isAside else { return }
        try database.write()
        try database.saveAcknowledgedAside(number)
    }
}
