/// How a body is compressed on the wire; none is nil.
package enum ContentCoding: String, Sendable, CaseIterable {
    /// A frame (the LZ4 frame format), or one raw block as SLS's SDKs send it, whose content's size
    /// must be told beside it. No block begins as a frame does.
    case lz4
    /// A zlib stream (RFC 1950), in SLS as in HTTP.
    case deflate
    case gzip
    case zstd
    /// One raw block, or the framing format. No block begins as the framing format does.
    case snappy

    /// The names in `x-log-compresstype`, as SLS has them.
    package static let compressTypes: KeyValuePairs<String, ContentCoding> = [
        "lz4": .lz4, "deflate": .deflate, "gzip": .gzip, "zstd": .zstd, "x-gzip": .gzip,
    ]

    /// The names in `Content-Encoding`, the registered ones first. The Collector of OpenTelemetry
    /// calls deflate `zlib`; its `snappy` is framed in older versions and a block in newer ones,
    /// which say `x-snappy-framed` for frames.
    package static let contentEncodings: KeyValuePairs<String, ContentCoding> = [
        "gzip": .gzip, "x-gzip": .gzip, "deflate": .deflate, "zlib": .deflate, "zstd": .zstd,
        "lz4": .lz4, "snappy": .snappy, "x-snappy-framed": .snappy,
    ]

    /// A value of `x-log-compresstype`, in any case.
    package init?(compressType name: String) {
        self.init(name, among: Self.compressTypes)
    }

    /// A value of `Content-Encoding`, in any case.
    package init?(contentEncoding name: String) {
        self.init(name, among: Self.contentEncodings)
    }

    private init?(_ name: String, among names: KeyValuePairs<String, ContentCoding>) {
        let wanted = name.lowercased()
        guard let known = names.first(where: { $0.key == wanted }) else { return nil }
        self = known.value
    }
}

/// How far a body may grow when it is inflated.
package struct InflateLimit: Sendable, Equatable {
    /// SLS's own bound of a request.
    package var bytes = 10 << 20
    /// Bytes out for each byte in, beyond `freeBytes`. Logs shrink five- to twentyfold, the most
    /// repetitive ones fiftyfold; a bomb of zeros a thousandfold with deflate and far more with
    /// zstd. At 200, a client has to send fifty KiB to cause ten MiB of work.
    package var ratio = 200
    /// Up to here no ratio is suspicious, because the work is small.
    package var freeBytes = 1 << 20

    package init(bytes: Int = 10 << 20, ratio: Int = 200, freeBytes: Int = 1 << 20) {
        self.bytes = bytes
        self.ratio = ratio
        self.freeBytes = freeBytes
    }

    /// The most content of a body of this size.
    package func allowance(for compressed: Int) -> Int {
        min(bytes, max(freeBytes, compressed.multipliedReportingOverflow(by: ratio).partialValue))
    }

    /// The most that the logs of a body of this size may become when they repeat shared texts.
    /// Repeating could get around the bound for inflating, so it has the same measure.
    package func repeating(for sent: Int) -> Int { 2 * allowance(for: sent) }

    func exceeded(by compressed: Int) -> InflateError {
        allowance(for: compressed) == bytes
            ? .tooLarge(limit: bytes) : .suspiciousRatio(limit: ratio)
    }
}

package enum InflateError: Error, Equatable, Sendable, CustomStringConvertible {
    case tooLarge(limit: Int)
    case suspiciousRatio(limit: Int)
    case corrupt(String)
    /// Nothing is wrong with it; the gateway has no memory for it now.
    case noMemory
    /// The content is not as long as the request says; nil when it is longer by an unknown amount.
    case sizeMismatch(declared: Int, actual: Int?)
    /// An lz4 block does not tell how large its content is.
    case sizeMissing

    static let cutOff = corrupt("the compressed body is cut off")

    package var description: String {
        switch self {
        case .tooLarge(let limit):
            "the inflated body exceeds \(limit) bytes; send smaller batches"
        case .suspiciousRatio(let limit):
            "the body inflates more than \(limit)-fold; send it uncompressed or in smaller batches"
        case .corrupt(let reason): reason
        case .noMemory: "the gateway has no memory to inflate the body now; send the logs again"
        case .sizeMismatch(let declared, let actual?):
            "the body holds \(actual) bytes, but x-log-bodyrawsize says \(declared)"
        case .sizeMismatch(let declared, nil):
            "the body holds more bytes than x-log-bodyrawsize says (\(declared))"
        case .sizeMissing:
            "a block of lz4 needs x-log-bodyrawsize, the size of its content in bytes; an lz4 frame does not"
        }
    }
}

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

/// Memory that bodies are inflated into, with spare bytes behind for parsers that read in blocks.
struct InflateBuffer: ~Copyable {
    private static let spareBytes = 64

    private var memory = RawMemory(capacity: 64)
    /// The bytes of all bodies so far. Each coding counts its own.
    var producedBytes = 0

    var start: UnsafeMutablePointer<UInt8> { memory.start }

    /// The content that fits.
    var capacity: Int { memory.capacity - Self.spareBytes }

    /// The memory that is held, spare bytes included.
    var heldBytes: Int { memory.capacity }

    mutating func shrink() { memory.shrink() }

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
