import CZstd

/// Inflates Zstandard frames, one after the other.
struct ZstdInflater: ~Copyable {
    /// The decoder's window is 2^23 bytes: RFC 8878 asks a decoder to support it, and all levels
    /// but the `--ultra` ones stay within it. A frame that asks for more is refused.
    private static let windowLog: CInt = 23
    /// A decoder that needed a large window is not kept.
    private static let keptDecoderBytes = 512 << 10

    private var decoder: OpaquePointer?

    deinit { ZSTD_freeDStream(decoder) }

    /// True when the decoder of an earlier body is kept for the next one.
    var keepsDecoder: Bool { decoder != nil }

    mutating func inflate(
        _ body: UnsafeRawBufferPointer,
        to buffer: inout InflateBuffer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        let ready = try readyDecoder()
        ZSTD_DCtx_reset(ready, ZSTD_reset_session_only)
        defer {
            if ZSTD_sizeof_DStream(ready) > Self.keptDecoderBytes {
                ZSTD_freeDStream(ready)
                decoder = nil
            }
        }
        var input = ZSTD_inBuffer(src: body.baseAddress, size: body.count, pos: 0)
        var produced = 0
        while true {
            let room = buffer.room(after: produced, bound)
            var output = ZSTD_outBuffer(dst: buffer.start, size: produced + room, pos: produced)
            let result = ZSTD_decompressStream(ready, &output, &input)
            buffer.producedBytes += output.pos - produced
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

    private mutating func readyDecoder() throws(InflateError) -> OpaquePointer {
        if let decoder { return decoder }
        guard let made = ZSTD_createDStream() else { throw .noMemory }
        ZSTD_DCtx_setParameter(made, ZSTD_d_windowLogMax, Self.windowLog)
        decoder = made
        return made
    }
}
