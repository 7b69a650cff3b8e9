import CSnappy
import CZlib
import CZstd

/// What clients send: made with the libraries themselves.
enum Compressors {
    static func snappy(_ raw: [UInt8]) -> [UInt8] {
        var size = snappy_max_compressed_length(raw.count)
        var block = [CChar](repeating: 0, count: size)
        _ = raw.withUnsafeBytes { raw in
            snappy_compress(
                raw.baseAddress?.assumingMemoryBound(to: CChar.self),
                raw.count,
                &block,
                &size
            )
        }
        return block[..<size].map { UInt8(bitPattern: $0) }
    }

    static func gzip(_ raw: [UInt8]) -> [UInt8] { deflate(raw, window: 31) }

    static func rawDeflate(_ raw: [UInt8]) -> [UInt8] { deflate(raw, window: -15) }

    private static func deflate(_ raw: [UInt8], window: CInt) -> [UInt8] {
        var stream = z_stream()
        let size = CInt(MemoryLayout<z_stream>.size)
        deflateInit2_(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        defer { deflateEnd(&stream) }
        var raw = raw
        var output = [UInt8](repeating: 0, count: raw.count + raw.count / 100 + 100)
        let count = raw.withUnsafeMutableBufferPointer { raw in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = raw.baseAddress
                stream.avail_in = UInt32(raw.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                CZlib.deflate(&stream, Z_FINISH)
                return output.count - Int(stream.avail_out)
            }
        }
        return Array(output[..<count])
    }

    /// A frame as a stream makes it: without the size of its content.
    static func zstdStream(_ raw: [UInt8], windowLog: CInt = 0) -> [UInt8] {
        let context = ZSTD_createCCtx()
        defer { ZSTD_freeCCtx(context) }
        ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0)
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
        if windowLog > 0 { ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, windowLog) }
        var output = [UInt8](repeating: 0, count: ZSTD_compressBound(raw.count) + 64)
        let count = raw.withUnsafeBytes { raw in
            output.withUnsafeMutableBytes { output in
                var source = ZSTD_inBuffer(src: raw.baseAddress, size: raw.count, pos: 0)
                var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
                // Flushed first, so that the encoder does not know the size when it starts.
                ZSTD_compressStream2(context, &target, &source, ZSTD_e_flush)
                ZSTD_compressStream2(context, &target, &source, ZSTD_e_end)
                return target.pos
            }
        }
        return Array(output[..<count])
    }
}
