import CLZ4

/// Bytes that are not the LZ4 block they should be.
package struct LZ4Error: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Raw LZ4 blocks: no frame, no size in front, as SLS wants them.
package enum LZ4 {
    /// Always a legal block, also of nothing.
    package static func compress(_ raw: UnsafeRawBufferPointer) -> [UInt8] {
        precondition(raw.count <= LZ4_MAX_INPUT_SIZE, "an lz4 block holds less than 2 GiB")
        let bound = LZ4_compressBound(CInt(raw.count))
        return Array(scratch: Int(bound)) { place in
            let source = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            let written = LZ4_compress_default(source, place.chars, CInt(raw.count), bound)
            precondition(written > 0, "lz4 never fails with room for its bound")
            return Int(written)
        }
    }

    package static func compress(_ raw: [UInt8]) -> [UInt8] {
        raw.withUnsafeBytes { compress($0) }
    }

    /// The block's content, which must have exactly `rawBytes`.
    package static func decompress(
        _ block: UnsafeRawBufferPointer,
        rawBytes: Int
    ) throws(LZ4Error) -> [UInt8] {
        guard rawBytes >= 0, rawBytes / 255 <= block.count, rawBytes <= LZ4_MAX_INPUT_SIZE else {
            throw LZ4Error("an lz4 block of \(block.count) bytes cannot hold \(rawBytes)")
        }
        var written = 0
        let content = [UInt8](unsafeUninitializedCapacity: max(rawBytes, 1)) { buffer, filled in
            guard let place = buffer.baseAddress else { return }
            written = decompress(block, to: place, rawBytes: rawBytes)
            filled = max(written, 0)
        }
        guard written == rawBytes else {
            throw LZ4Error("the lz4 block is damaged, or does not hold \(rawBytes) bytes")
        }
        return content
    }

    package static func decompress(
        _ block: [UInt8],
        rawBytes: Int
    ) throws(LZ4Error) -> [UInt8] {
        let result: Result<[UInt8], LZ4Error> = block.withUnsafeBytes { block in
            Result { () throws(LZ4Error) in try decompress(block, rawBytes: rawBytes) }
        }
        return try result.get()
    }

    /// Bytes written, negative when the block is damaged or holds more.
    static func decompress(
        _ block: UnsafeRawBufferPointer,
        to place: UnsafeMutablePointer<UInt8>,
        rawBytes: Int
    ) -> Int {
        guard let source = block.baseAddress, block.count <= CInt.max else { return -1 }
        return Int(
            LZ4_decompress_safe(
                source.assumingMemoryBound(to: CChar.self),
                place.chars,
                CInt(block.count),
                CInt(rawBytes)
            )
        )
    }
}

extension UnsafeMutablePointer<UInt8> {
    fileprivate var chars: UnsafeMutablePointer<CChar> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: CChar.self)
    }
}
