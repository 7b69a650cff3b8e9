import CZlib
import CZstd

/// Inflates request bodies into a buffer that it reuses. One for each thread.
///
/// Streams are inflated in steps and measured as they grow; nothing is allocated because a header
/// claims a size.
package final class Inflater {
    /// What stays allocated between bodies.
    private static let keptBytes = 256 << 10
    /// Behind the content there are always so many readable bytes, for parsers that read in blocks.
    static let spareBytes = 64

    /// Of all bodies so far, also of those that could not be inflated to their end.
    package internal(set) var producedBytes = 0

    var memory = RawMemory(capacity: 64)
    /// zlib keeps a pointer back to its stream, so the stream stays where it is.
    let zlib: UnsafeMutablePointer<z_stream>
    var zlibIsReady = false
    var zstd: OpaquePointer?

    package init() {
        zlib = .allocate(capacity: 1)
        zlib.initialize(to: z_stream())
    }

    deinit {
        if zlibIsReady { inflateEnd(zlib) }
        zlib.deallocate()
        ZSTD_freeDStream(zstd)
    }

    /// The content of a compressed body. It is valid until the next call, with 64 readable bytes
    /// after it.
    ///
    /// `rawBytes` is the size that the request claims (`x-log-bodyrawsize`), which must be exact; a
    /// block of lz4 cannot be read without it. The inflater stops one byte beyond `rawBytes`, so a
    /// caller may take it for the upper bound of the work.
    package func inflate(
        _ body: UnsafeRawBufferPointer,
        _ coding: ContentCoding,
        rawBytes: Int? = nil,
        limit: InflateLimit = InflateLimit()
    ) throws(InflateError) -> UnsafeRawBufferPointer {
        shrink()
        guard !body.isEmpty else { throw .corrupt("the body is empty, which \(coding) never is") }
        let bound = try ContentBound(of: body.count, rawBytes: rawBytes, limit)
        let count =
            switch coding {
            case .lz4: try inflateLZ4(body, rawBytes: rawBytes, bound)
            case .deflate: try inflateZlib(body, window: 15, bound)
            case .gzip: try inflateZlib(body, window: 31, bound)
            case .zstd: try inflateZstd(body, bound)
            case .snappy: try inflateSnappy(body, bound)
            }
        if let rawBytes, count != rawBytes {
            throw .sizeMismatch(declared: rawBytes, actual: count)
        }
        return UnsafeRawBufferPointer(start: memory.start, count: count)
    }

    /// Gives back what a large body needed. To be called when the content is no longer used and it
    /// may take a while to the next body; the next call to `inflate` does it too.
    package func shrink() {
        memory.shrink(to: Self.keptBytes)
    }

    /// Memory for so much content and the spare bytes.
    func reserve(_ count: Int, keeping kept: Int) {
        memory.grow(to: count + Self.spareBytes, keeping: kept)
    }

    /// Memory for the next step of a stream that has `produced` so far: at most one byte more than
    /// allowed, which tells a stream that exceeds it from one that just fits.
    func room(after produced: Int, _ bound: ContentBound) -> Int {
        if memory.capacity - Self.spareBytes <= produced {
            let next = max(32 << 10, (produced + Self.spareBytes) * 2)
            reserve(min(next, bound.bytes + 1), keeping: produced)
        }
        return min(memory.capacity - Self.spareBytes, bound.bytes + 1) - produced
    }
}

/// The most bytes that the content of one body may have.
struct ContentBound {
    /// The declared size, or else the limit's allowance.
    let bytes: Int
    /// Thrown when the content has more bytes.
    let error: InflateError

    init(
        of compressedBytes: Int,
        rawBytes: Int?,
        _ limit: InflateLimit
    ) throws(InflateError) {
        let allowance = limit.allowance(for: compressedBytes)
        guard let rawBytes else {
            (bytes, error) = (allowance, limit.exceeded(by: compressedBytes))
            return
        }
        guard rawBytes <= allowance else { throw limit.exceeded(by: compressedBytes) }
        (bytes, error) = (rawBytes, .sizeMismatch(declared: rawBytes, actual: nil))
        guard rawBytes >= 0 else { throw error }
    }
}
