/// Inflates request bodies into a buffer that it reuses. There is one for each thread.
///
/// Streams are inflated in steps and measured as they grow; nothing is allocated because a header
/// claims a size.
package final class Inflater {
    private(set) var buffer = InflateBuffer()
    private var zlib = ZlibInflater()
    private(set) var zstd = ZstdInflater()
    /// The body whose content `prepare` left in the buffer, and the content's size. The address
    /// only identifies it.
    private var prepared: (body: UnsafeRawBufferPointer, count: Int)?

    /// The bytes of all bodies so far, also of those that could not be inflated to their end.
    /// Prepared content counts when it is taken.
    package var producedBytes: Int { buffer.producedBytes - (prepared?.count ?? 0) }

    package init() {}

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
        if let prepared, prepared.body.baseAddress == body.baseAddress,
            prepared.body.count == body.count
        {
            self.prepared = nil
            return UnsafeRawBufferPointer(start: buffer.start, count: prepared.count)
        }
        shrink()
        guard !body.isEmpty else { throw .corrupt("the body is empty, which \(coding) never is") }
        let bound = try ContentBound(of: body.count, rawBytes: rawBytes, limit)
        let count =
            switch coding {
            case .lz4: try LZ4Inflater.inflate(body, rawBytes: rawBytes, to: &buffer, bound)
            case .deflate: try zlib.inflate(body, .zlib, to: &buffer, bound)
            case .gzip: try zlib.inflate(body, .gzip, to: &buffer, bound)
            case .zstd: try zstd.inflate(body, to: &buffer, bound)
            case .snappy: try SnappyInflater.inflate(body, to: &buffer, bound)
            }
        if let rawBytes, count != rawBytes {
            throw .sizeMismatch(declared: rawBytes, actual: count)
        }
        return UnsafeRawBufferPointer(start: buffer.start, count: count)
    }

    /// Inflates a body whose head does not declare the size of its content. Returns false if the
    /// content is larger than the limit allows. Otherwise the next call of `inflate` for the same
    /// body returns the content, or its error.
    ///
    /// Call `shrink` before the body's memory is reused: the body is recognised by its address.
    package func prepare(
        _ body: UnsafeRawBufferPointer,
        _ coding: ContentCoding,
        limit: InflateLimit
    ) -> Bool {
        do throws(InflateError) {
            prepared = (body, try inflate(body, coding, limit: limit).count)
        } catch .tooLarge {
            return false
        } catch {}
        return true
    }

    /// Gives back the memory that a large body needed, and forgets prepared content. A caller does
    /// so when it no longer uses the content and the next body may take a while; the next call to
    /// `inflate` does it, too.
    package func shrink() {
        prepared = nil
        buffer.shrink()
    }
}

/// Memory that bodies are inflated into. Behind the content there are always some readable bytes,
/// for parsers that read in blocks.
struct InflateBuffer: ~Copyable {
    /// The memory that stays allocated between bodies.
    private static let keptBytes = 256 << 10
    private static let spareBytes = 64

    private var memory = RawMemory(capacity: 64)
    /// The bytes of all bodies so far. Each coding counts its own.
    var producedBytes = 0

    var start: UnsafeMutablePointer<UInt8> { memory.start }

    /// The content that fits.
    var capacity: Int { memory.capacity - Self.spareBytes }

    /// The memory that is held, spare bytes included.
    var heldBytes: Int { memory.capacity }

    mutating func shrink() {
        memory.shrink(to: Self.keptBytes)
    }

    /// Makes room for so much content.
    mutating func reserve(_ count: Int, keeping kept: Int) {
        memory.grow(to: count + Self.spareBytes, keeping: kept)
    }

    /// Makes room for the next step of a stream that has `produced` so far, and returns its size:
    /// at most one byte more than allowed, which tells a stream that exceeds its bound from one
    /// that just fits.
    mutating func room(after produced: Int, _ bound: ContentBound) -> Int {
        if capacity <= produced {
            let next = max(32 << 10, (produced + Self.spareBytes) * 2)
            reserve(min(next, bound.bytes + 1), keeping: produced)
        }
        return min(capacity, bound.bytes + 1) - produced
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
