import CZstd

/// Zstandard frames.
package enum Zstd {
    /// Level 1, as Alibaba's own SDKs use; the frame says how large its content is.
    package static func compress(_ raw: UnsafeRawBufferPointer) -> [UInt8] {
        let bound = ZSTD_compressBound(raw.count)
        return Array(scratch: bound) { place in
            let written = ZSTD_compress(place, bound, raw.baseAddress, raw.count, 1)
            precondition(ZSTD_isError(written) == 0, "zstd fails only without memory")
            return written
        }
    }

    package static func compress(_ raw: [UInt8]) -> [UInt8] {
        raw.withUnsafeBytes { compress($0) }
    }
}
