import CLZ4

/// Inflates LZ4: one raw block, whose size SLS's SDKs tell in a header, or frames, which tell their
/// sizes themselves.
enum LZ4Inflater {
    /// The first bytes of a frame. A block cannot begin so: it would copy from before its own
    /// start.
    private static let frameMagic: [UInt8] = [0x04, 0x22, 0x4D, 0x18]

    static func inflate(
        _ body: UnsafeRawBufferPointer,
        rawBytes: Int?,
        to buffer: inout InflateBuffer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        body.starts(with: frameMagic)
            ? try inflateFrames(body, to: &buffer, bound)
            : try inflateBlock(body, rawBytes: rawBytes, to: &buffer)
    }

    /// The caller has checked `rawBytes` against the limits.
    private static func inflateBlock(
        _ body: UnsafeRawBufferPointer,
        rawBytes: Int?,
        to buffer: inout InflateBuffer
    ) throws(InflateError) -> Int {
        guard let rawBytes else { throw .sizeMissing }
        // How much of a damaged block is inflated is not known.
        buffer.producedBytes += rawBytes
        buffer.reserve(rawBytes, keeping: 0)
        let count = LZ4.decompress(body, to: buffer.start, rawBytes: rawBytes)
        if count >= 0 { return count }
        // The decoder does not tell damage from lack of room; a walk over the block does.
        let shape: LZ4Shape
        do {
            shape = try LZ4Shape(of: body)
        } catch {
            throw .corrupt("\(error)")
        }
        guard shape.rawBytes != rawBytes else { throw .corrupt("the lz4 block is damaged") }
        throw .sizeMismatch(declared: rawBytes, actual: shape.rawBytes)
    }

    /// Inflates frames one after the other, in steps. The decoder is made for each body: its
    /// buffers, 8 MiB where a frame has large blocks, are not kept.
    private static func inflateFrames(
        _ body: UnsafeRawBufferPointer,
        to buffer: inout InflateBuffer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        var made: OpaquePointer?
        guard LZ4F_isError(LZ4F_createDecompressionContext(&made, UInt32(LZ4F_VERSION))) == 0,
            let decoder = made
        else { throw .noMemory }
        defer { LZ4F_freeDecompressionContext(decoder) }
        var (consumed, produced) = (0, 0)
        while true {
            var taken = body.count - consumed
            var step = buffer.room(after: produced, bound)
            let offered = step
            let source = body.baseAddress.map { $0 + consumed }
            let result = LZ4F_decompress(
                decoder,
                buffer.start + produced,
                &step,
                source,
                &taken,
                nil
            )
            guard LZ4F_isError(result) == 0 else {
                let reason = String(cString: LZ4F_getErrorName(result))
                if reason == "ERROR_allocation_failed" { throw .noMemory }
                throw .corrupt("the lz4 frame is damaged: \(reason)")
            }
            consumed += taken
            produced += step
            buffer.producedBytes += step
            guard produced <= bound.bytes else { throw bound.error }
            // Zero means that a frame is complete.
            if result == 0 {
                if consumed == body.count { return produced }
            } else if consumed == body.count, step < offered {
                throw .corrupt("the compressed body is cut off")
            }
        }
    }
}
