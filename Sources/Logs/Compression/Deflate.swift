import CZlib

/// What SLS calls `deflate`: a zlib stream (RFC 1950).
package enum Deflate {
    /// Level 1: a gateway that sends all day trades a tenth of the size for three times the speed.
    package static func compress(_ raw: UnsafeRawBufferPointer) -> [UInt8] {
        precondition(raw.count <= Int(UInt32.max), "packets are far smaller")
        let bound = Int(compressBound(UInt(raw.count)))
        return Array(scratch: bound) { place in
            var written = UInt(bound)
            let source = raw.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let code = compress2(place, &written, source, UInt(raw.count), 1)
            precondition(code == Z_OK, "zlib fails only without memory")
            return Int(written)
        }
    }

    package static func compress(_ raw: [UInt8]) -> [UInt8] {
        raw.withUnsafeBytes { compress($0) }
    }
}

/// gzip files (RFC 1952).
package enum Gzip {
    /// Level 1, as `Deflate`.
    package static func compress(_ raw: [UInt8]) -> [UInt8] {
        var stream = StreamCompressor(.gzip, level: 1)
        return raw.withUnsafeBytes { stream.append($0) } + stream.finish()
    }
}
