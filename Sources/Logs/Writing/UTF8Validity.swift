import CSimdjson

extension UnsafeBufferPointer<UInt8> {
    /// Whether this is well-formed UTF-8 (Unicode, table 3-7).
    @inline(__always)
    var isUTF8: Bool {
        guard let start = baseAddress, count > 0 else { return true }
        // Most texts are short and ASCII, and seen as that in less time than a call takes.
        return count <= 64 && Self.highBits(start, count) == 0 || sluice_utf8_is_valid(start, count)
    }

    /// Zero when all bytes are ASCII.
    @inline(__always)
    private static func highBits(_ start: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        let raw = UnsafeRawPointer(start)
        var bits: UInt64 = 0
        var offset = 0
        while offset + 8 <= count {
            bits |= raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < count {
            bits |= UInt64(start[offset])
            offset += 1
        }
        return bits & 0x8080_8080_8080_8080
    }
}
