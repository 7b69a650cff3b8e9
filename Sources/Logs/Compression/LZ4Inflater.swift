import CLZ4
import CSnappy
import System

/// Inflates LZ4: one raw block, whose size SLS's SDKs tell in a header, or frames, which tell their
/// sizes themselves.
enum LZ4Inflater {
    /// The first bytes of a frame. A block that begins so would copy from before its own start.
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
                throw .cutOff
            }
        }
    }
}

/// Inflates Snappy: one raw block, as Loki's clients send it, or the framing format
/// (framing_format.txt of Snappy), as streams are written.
enum SnappyInflater {
    /// A copy of 64 bytes takes three at least, so no block holds more for each of its bytes.
    private static let mostPerByte = 22

    /// The chunk that every framed stream begins with. A block cannot: it would copy from before
    /// its own start.
    private static let streamStart: [UInt8] = [0xFF, 6, 0, 0] + Array("sNaPpY".utf8)
    private static let chunkBytesMax = 64 << 10

    static func inflate(
        _ body: UnsafeRawBufferPointer,
        to buffer: inout InflateBuffer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        body.starts(with: streamStart)
            ? try inflateChunks(body, to: &buffer, bound)
            : try inflateBlock(body, to: &buffer, bound)
    }

    /// One raw block, which begins with the size of its content.
    private static func inflateBlock(
        _ body: UnsafeRawBufferPointer,
        to buffer: inout InflateBuffer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        let size = try size(of: body)
        guard size <= bound.bytes else { throw bound.error }
        guard size / mostPerByte <= body.count else {
            throw .corrupt("a snappy block of \(body.count) bytes cannot hold \(size)")
        }
        buffer.producedBytes += size
        buffer.reserve(size, keeping: 0)
        try inflate(block: body, to: buffer.start, size)
        return size
    }

    private static func inflateChunks(
        _ body: UnsafeRawBufferPointer,
        to buffer: inout InflateBuffer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        var (position, produced) = (0, 0)
        while position < body.count {
            guard body.count - position >= 4 else { throw .cutOff }
            let kind = body[position]
            let length =
                Int(body[position + 1]) | Int(body[position + 2]) << 8
                | Int(body[position + 3]) << 16
            position += 4
            guard body.count - position >= length else { throw .cutOff }
            let chunk = UnsafeRawBufferPointer(rebasing: body[position..<position + length])
            position += length
            switch kind {
            case 0x00, 0x01:
                let count = try inflate(
                    chunk,
                    isCompressed: kind == 0,
                    to: &buffer,
                    after: produced,
                    allowance: bound.bytes
                )
                guard let count else { throw bound.error }
                produced += count
            case 0xFF:
                guard chunk.elementsEqual(streamStart[4...]) else {
                    throw .corrupt("the snappy stream begins wrongly")
                }
            // Chunks to skip: padding among them.
            case 0x80...0xFE: break
            default: throw .corrupt("the snappy stream has a chunk of an unknown kind")
            }
        }
        return produced
    }

    /// Inflates a chunk behind the content and returns its size; nil beyond the allowance.
    private static func inflate(
        _ chunk: UnsafeRawBufferPointer,
        isCompressed: Bool,
        to buffer: inout InflateBuffer,
        after produced: Int,
        allowance: Int
    ) throws(InflateError) -> Int? {
        guard chunk.count >= 4 else { throw .corrupt("a snappy chunk has no checksum") }
        let wanted = chunk.loadUnaligned(as: UInt32.self).littleEndian
        let content = UnsafeRawBufferPointer(rebasing: chunk[4...])
        let count = isCompressed ? try size(of: content) : content.count
        guard count <= chunkBytesMax else {
            throw .corrupt("a snappy chunk holds more than \(chunkBytesMax) bytes")
        }
        guard count <= allowance - produced else { return nil }
        if buffer.capacity < produced + count {
            buffer.reserve(min((produced + count) * 2, allowance), keeping: produced)
        }
        buffer.producedBytes += count
        let place = buffer.start + produced
        if isCompressed {
            try inflate(block: content, to: place, count)
        } else if let start = content.baseAddress {
            place.update(from: start.assumingMemoryBound(to: UInt8.self), count: count)
        }
        let written = UnsafeRawBufferPointer(start: place, count: count)
        guard CRC32C.masked(of: written) == wanted else {
            throw .corrupt("the snappy stream is damaged: a checksum differs")
        }
        return count
    }

    private static func size(of block: UnsafeRawBufferPointer) throws(InflateError) -> Int {
        let source = block.baseAddress?.assumingMemoryBound(to: CChar.self)
        var size = 0
        guard snappy_uncompressed_length(source, block.count, &size) == SNAPPY_OK else {
            throw .corrupt("the snappy block does not tell the size of its content")
        }
        return size
    }

    private static func inflate(
        block: UnsafeRawBufferPointer,
        to place: UnsafeMutablePointer<UInt8>,
        _ size: Int
    ) throws(InflateError) {
        let source = block.baseAddress?.assumingMemoryBound(to: CChar.self)
        let target = UnsafeMutableRawPointer(place).assumingMemoryBound(to: CChar.self)
        var written = size
        guard snappy_uncompress(source, block.count, target, &written) == SNAPPY_OK,
            written == size
        else { throw .corrupt("the snappy block is damaged or cut off") }
    }
}
