/// CRC-32 with Castagnoli's polynomial: the checksum of snappy's framing format and of the commit
/// log.
///
/// Eight tables take eight bytes at a step, so the checksum of a body costs less than inflating it.
package enum CRC32C {
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var value = UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0x82F6_3B78 }
            tables[byte] = value
        }
        for place in 256..<8 * 256 {
            let before = tables[place - 256]
            tables[place] = before >> 8 ^ tables[Int(before & 0xFF)]
        }
        return tables
    }()

    /// `sum` is the checksum of the bytes before these.
    package static func checksum(of bytes: UnsafeRawBufferPointer, after sum: UInt32 = 0) -> UInt32
    {
        tables.withUnsafeBufferPointer { tables in
            var value = ~sum
            var rest = bytes
            while rest.count >= 8 {
                let word = rest.loadUnaligned(as: UInt64.self).littleEndian ^ UInt64(value)
                value = 0
                for lane in 0..<8 {
                    value ^= tables[(7 - lane) << 8 | Int(word >> UInt64(lane * 8) & 0xFF)]
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[8...])
            }
            for byte in rest { value = value >> 8 ^ tables[Int((value ^ UInt32(byte)) & 0xFF)] }
            return ~value
        }
    }

    /// As snappy writes it, so that a checksum of data with checksums differs from the data.
    package static func masked(of bytes: UnsafeRawBufferPointer) -> UInt32 {
        let value = checksum(of: bytes)
        return (value >> 15 | value << 17) &+ 0xA282_EAD8
    }
}
