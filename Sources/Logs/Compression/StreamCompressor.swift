import CZlib
import CZstd

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

/// Compresses a content that comes in parts, so that a file of any size needs little memory.
package struct StreamCompressor: ~Copyable {
    package enum Format: Sendable {
        case gzip
        case zstd
    }

    private enum State {
        // zlib keeps a pointer back to its stream, so the stream stays where it is.
        case gzip(UnsafeMutablePointer<z_stream>)
        case zstd(OpaquePointer)
    }

    private let state: State
    private let memory = RawMemory(capacity: 128 << 10)

    package init(_ format: Format, level: CInt) {
        switch format {
        case .gzip:
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            let code = deflateInit2_(
                stream,
                level,
                Z_DEFLATED,
                ZlibInflater.Format.gzip.rawValue,
                8,
                Z_DEFAULT_STRATEGY,
                ZLIB_VERSION,
                CInt(MemoryLayout<z_stream>.size)
            )
            precondition(code == Z_OK, "zlib fails only without memory")
            state = .gzip(stream)
        case .zstd:
            guard let context = ZSTD_createCCtx() else {
                preconditionFailure("zstd fails only without memory")
            }
            ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
            ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
            state = .zstd(context)
        }
    }

    deinit {
        switch state {
        case .gzip(let stream):
            deflateEnd(stream)
            stream.deallocate()
        case .zstd(let context): ZSTD_freeCCtx(context)
        }
    }

    /// Takes the next part; returns what the compressor gives out so far, which may be nothing.
    package mutating func append(_ part: UnsafeRawBufferPointer) -> [UInt8] {
        run(part, isLast: false)
    }

    /// The end of the compressed content. Call it once, as the last.
    package mutating func finish() -> [UInt8] {
        run(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
    }

    private func run(_ part: UnsafeRawBufferPointer, isLast: Bool) -> [UInt8] {
        var output: [UInt8] = []
        switch state {
        case .gzip(let stream):
            precondition(part.count <= Int(UInt32.max), "parts are far smaller")
            let source = part.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.next_in = UnsafeMutablePointer(mutating: source)
            stream.pointee.avail_in = UInt32(part.count)
            repeat {
                stream.pointee.next_out = memory.start
                stream.pointee.avail_out = UInt32(memory.capacity)
                let code = CZlib.deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                precondition(code != Z_STREAM_ERROR, "the stream is in use until it is finished")
                let count = memory.capacity - Int(stream.pointee.avail_out)
                output += UnsafeBufferPointer(start: memory.start, count: count)
            } while stream.pointee.avail_out == 0
        case .zstd(let context):
            var source = ZSTD_inBuffer(src: part.baseAddress, size: part.count, pos: 0)
            var isDone = false
            while !isDone {
                var target = ZSTD_outBuffer(dst: memory.start, size: memory.capacity, pos: 0)
                let mode = isLast ? ZSTD_e_end : ZSTD_e_continue
                let left = ZSTD_compressStream2(context, &target, &source, mode)
                precondition(ZSTD_isError(left) == 0, "zstd fails only without memory")
                output += UnsafeBufferPointer(start: memory.start, count: target.pos)
                isDone = isLast ? left == 0 : source.pos == source.size
            }
        }
        return output
    }
}
