import Queue

/// Where the rows of a packet lie.
struct PacketPlace: Equatable {
    let stream: Int64
    let rows: ClosedRange<Int64>

    /// No row has such a place.
    static let unknown = PacketPlace(stream: 0, rows: 0...0)
}

extension PacketPlace {
    /// As it stands in the table of settings, which has no checksums.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for number in [stream, rows.lowerBound, rows.upperBound] {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }
        var checksum = Checksum()
        checksum.add(bytes)
        withUnsafeBytes(of: checksum.value.littleEndian) { bytes += $0 }
        return bytes
    }

    /// Nil where the bytes are not those that were written.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        let numbers = stride(from: 0, to: 32, by: 8).map { start in
            bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        var checksum = Checksum()
        checksum.add(Array(bytes[..<24]))
        let first = Int64(bitPattern: numbers[1])
        let last = Int64(bitPattern: numbers[2])
        guard numbers[3] == checksum.value, first <= last else { return nil }
        self.init(stream: Int64(bitPattern: numbers[0]), rows: first...last)
    }
}

/// A packet that delivery holds.
struct HandedPacket {
    /// The logstore that it was handed over for.
    let outlet: Outlet
    let place: PacketPlace

    init(_ packet: SealedPacket) {
        outlet = packet.stream.outlet
        place = PacketPlace(stream: packet.streamID, rows: packet.rows)
    }
}
