import CLZ4
import CSnappy
import CZlib
import CZstd
import System

@testable import Logs

/// Compressed bodies as clients send them, made with the libraries themselves.
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
        return block[..<size].map(UInt8.init(truncatingIfNeeded:))
    }

    /// How a frame of LZ4 may be written.
    struct LZ4FrameStyle: Sendable {
        /// 4 to 7: 64 KiB to 4 MiB.
        var blockSize: UInt32 = 4
        var isLinked = true
        var hasChecksums = true
        var tellsSize = false

        static let all = [
            LZ4FrameStyle(), LZ4FrameStyle(blockSize: 7), LZ4FrameStyle(isLinked: false),
            LZ4FrameStyle(hasChecksums: false), LZ4FrameStyle(blockSize: 5, tellsSize: true),
        ]
    }

    static func lz4Frame(_ raw: [UInt8], _ style: LZ4FrameStyle) -> [UInt8] {
        var preferences = LZ4F_preferences_t()
        preferences.frameInfo.blockSizeID = LZ4F_blockSizeID_t(rawValue: style.blockSize)
        preferences.frameInfo.blockMode = style.isLinked ? LZ4F_blockLinked : LZ4F_blockIndependent
        if style.hasChecksums {
            preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled
            preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled
        }
        if style.tellsSize { preferences.frameInfo.contentSize = UInt64(raw.count) }
        let bound = LZ4F_compressFrameBound(raw.count, &preferences)
        var frame = [UInt8](repeating: 0, count: bound)
        let count = LZ4F_compressFrame(&frame, bound, raw, raw.count, &preferences)
        precondition(LZ4F_isError(count) == 0, "lz4 makes a frame of anything")
        return Array(frame[..<count])
    }

    /// The framing format: chunks of up to 64 KiB behind the one that says what it is.
    static func snappyStream(_ raw: [UInt8], compresses: Bool = true) -> [UInt8] {
        var stream: [UInt8] = [0xFF, 6, 0, 0] + Array("sNaPpY".utf8)
        var rest = raw[...]
        while !rest.isEmpty {
            let content = Array(rest.prefix(64 << 10))
            rest = rest.dropFirst(content.count)
            let data = compresses ? snappy(content) : content
            let length = data.count + 4
            stream += [compresses ? 0 : 1, UInt8(length & 0xFF), UInt8(length >> 8 & 0xFF)]
            stream.append(UInt8(length >> 16))
            let sum = content.withUnsafeBytes { CRC32C.masked(of: $0) }
            withUnsafeBytes(of: sum.littleEndian) { stream.append(contentsOf: $0) }
            stream += data
        }
        return stream
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
