import Queue

/// The place of a packet's rows.
struct PacketPlace: Equatable {
    let stream: Int64
    let rows: ClosedRange<Int64>

    /// A place that no row has.
    static let unknown = PacketPlace(stream: 0, rows: 0...0)
}

extension PacketPlace {
    /// The stored form in the table of settings, which has no checksums of its own.
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

    /// Nil if the bytes are not the stored form.
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
    let shard: Shard
    let place: PacketPlace

    init(_ packet: SealedPacket) {
        outlet = packet.stream.outlet
        shard = packet.shard
        place = PacketPlace(stream: packet.streamID.number, rows: packet.rows)
    }
}
