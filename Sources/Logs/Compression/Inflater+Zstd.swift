import CZstd

extension Inflater {
    /// The decoder's window, 2^23 bytes: what RFC 8878 asks a decoder to support, and what every
    /// level but the `--ultra` ones stays within. A frame that asks for more is refused.
    private static let windowLog: CInt = 23
    /// A decoder that needed a large window is not kept.
    private static let keptDecoderBytes = 512 << 10

    func inflateZstd(
        _ body: UnsafeRawBufferPointer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        let decoder = try readyDecoder()
        ZSTD_DCtx_reset(decoder, ZSTD_reset_session_only)
        defer {
            if ZSTD_sizeof_DStream(decoder) > Self.keptDecoderBytes {
                ZSTD_freeDStream(decoder)
                zstd = nil
            }
        }
        var input = ZSTD_inBuffer(src: body.baseAddress, size: body.count, pos: 0)
        var produced = 0
        while true {
            let room = room(after: produced, bound)
            var output = ZSTD_outBuffer(dst: memory.start, size: produced + room, pos: produced)
            let result = ZSTD_decompressStream(decoder, &output, &input)
            producedBytes += output.pos - produced
            produced = output.pos
            guard ZSTD_isError(result) == 0 else {
                guard ZSTD_getErrorCode(result) != ZSTD_error_memory_allocation else {
                    throw .noMemory
                }
                let reason = String(cString: ZSTD_getErrorName(result))
                throw .corrupt("the zstd body is damaged or too demanding: \(reason)")
            }
            guard produced <= bound.bytes else { throw bound.error }
            if input.pos == body.count {
                // Zero means that a frame is complete; another may follow it (RFC 8878, 3.).
                if result == 0 { return produced }
                guard output.pos == output.size else {
                    throw .corrupt("the compressed body is cut off")
                }
            }
        }
    }

    private func readyDecoder() throws(InflateError) -> OpaquePointer {
        if let zstd { return zstd }
        guard let decoder = ZSTD_createDStream() else { throw .noMemory }
        ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, Self.windowLog)
        zstd = decoder
        return decoder
    }
}
