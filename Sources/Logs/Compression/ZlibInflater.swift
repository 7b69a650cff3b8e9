import CZlib
import CZstd

/// Inflates zlib streams and gzip files. Raw deflate is not taken for `deflate`: it has no
/// checksum, and no SLS client sends it.
struct ZlibInflater: ~Copyable {
    /// A format, by its window as zlib counts.
    enum Format: CInt {
        case zlib = 15
        case gzip = 31
    }

    /// zlib keeps a pointer back to its stream, so the stream stays where it is.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isReady = false

    init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isReady { inflateEnd(stream) }
        stream.deallocate()
    }

    mutating func inflate(
        _ body: UnsafeRawBufferPointer,
        _ format: Format,
        to buffer: inout InflateBuffer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        guard body.count <= Int(UInt32.max) else { throw .tooLarge(limit: Int(UInt32.max)) }
        try prepare(format)
        let input = body.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input)
        stream.pointee.avail_in = UInt32(body.count)
        var produced = 0
        while true {
            let room = buffer.room(after: produced, bound)
            stream.pointee.next_out = buffer.start + produced
            stream.pointee.avail_out = UInt32(clamping: room)
            let offered = Int(stream.pointee.avail_out)
            let code = CZlib.inflate(stream, Z_NO_FLUSH)
            let step = offered - Int(stream.pointee.avail_out)
            produced += step
            buffer.producedBytes += step
            guard produced <= bound.bytes else { throw bound.error }
            switch code {
            case Z_OK: continue
            case Z_STREAM_END where stream.pointee.avail_in == 0: return produced
            case Z_STREAM_END where format == .gzip:
                // RFC 1952: a gzip file is one member after the other.
                inflateReset(stream)
            case Z_STREAM_END: throw .corrupt("bytes follow the end of the zlib stream")
            case Z_BUF_ERROR: throw .cutOff
            case Z_NEED_DICT: throw .corrupt("the zlib stream needs a dictionary")
            case Z_MEM_ERROR: throw .noMemory
            default: throw .corrupt("the compressed body is damaged: \(reason)")
            }
        }
    }

    private mutating func prepare(_ format: Format) throws(InflateError) {
        let window = format.rawValue
        let code =
            isReady
            ? inflateReset2(stream, window)
            : inflateInit2_(stream, window, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        // Any other error would be the library's, and no fault of the body.
        guard code == Z_OK else { throw .noMemory }
        isReady = true
    }

    private var reason: String {
        stream.pointee.msg.map { String(cString: $0) } ?? "no details"
    }
}

struct ZstdInflater: ~Copyable {
    /// The decoder's window is 2^23 bytes: RFC 8878 asks a decoder to support it, and all levels
    /// but the `--ultra` ones stay within it. A frame that asks for more is refused.
    private static let windowLog: CInt = 23
    /// A decoder that needed a large window is not kept.
    private static let keptDecoderBytes = 512 << 10

    private var decoder: OpaquePointer?

    deinit { ZSTD_freeDStream(decoder) }

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
                guard output.pos == output.size else { throw .cutOff }
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
