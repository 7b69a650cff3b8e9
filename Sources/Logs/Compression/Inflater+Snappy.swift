import CSnappy

/// Snappy comes as one raw block, as Loki's clients send it, or in the framing format (framing_format.txt of Snappy), as
/// streams are written.
extension Inflater {
    /// A copy of 64 bytes takes three at least, so no block holds more for each of its bytes.
    private static let mostPerByte = 22

    /// The chunk that every framed stream begins with. No block does: it would copy from before its own start.
    private static let streamStart: [UInt8] = [0xFF, 6, 0, 0] + Array("sNaPpY".utf8)
    /// Of one chunk's content.
    private static let chunkBytesMax = 64 << 10

    func inflateSnappy(
        _ body: UnsafeRawBufferPointer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        body.starts(with: Self.streamStart)
            ? try inflateChunks(body, bound) : try inflateSnappyBlock(body, bound)
    }

    /// One raw block, which begins with the size of its content.
    private func inflateSnappyBlock(
        _ body: UnsafeRawBufferPointer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        let size = try size(of: body)
        guard size <= bound.bytes else { throw bound.error }
        guard size / Self.mostPerByte <= body.count else {
            throw .corrupt("a snappy block of \(body.count) bytes cannot hold \(size)")
        }
        producedBytes += size
        reserve(size, keeping: 0)
        try inflate(block: body, to: 0, size)
        return size
    }

    private func inflateChunks(
        _ body: UnsafeRawBufferPointer,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        var (position, produced) = (0, 0)
        while position < body.count {
            guard body.count - position >= 4 else {
                throw .corrupt("the compressed body is cut off")
            }
            let kind = body[position]
            let length =
                Int(body[position + 1]) | Int(body[position + 2]) << 8
                | Int(body[position + 3]) << 16
            position += 4
            guard body.count - position >= length else {
                throw .corrupt("the compressed body is cut off")
            }
            let chunk = UnsafeRawBufferPointer(rebasing: body[position..<position + length])
            position += length
            switch kind {
            case 0x00, 0x01:
                let count = try inflate(
                    chunk,
                    isCompressed: kind == 0,
                    after: produced,
                    allowance: bound.bytes
                )
                guard let count else { throw bound.error }
                produced += count
            case 0xFF:
                guard chunk.elementsEqual(Self.streamStart[4...]) else {
                    throw .corrupt("the snappy stream begins wrongly")
                }
            // To be skipped: padding among them.
            case 0x80...0xFE: break
            default: throw .corrupt("the snappy stream has a chunk of an unknown kind")
            }
        }
        return produced
    }

    /// A chunk's content behind what there is already; nil when that would be more than may be.
    private func inflate(
        _ chunk: UnsafeRawBufferPointer,
        isCompressed: Bool,
        after produced: Int,
        allowance: Int
    ) throws(InflateError) -> Int? {
        guard chunk.count >= 4 else { throw .corrupt("a snappy chunk has no checksum") }
        let wanted = chunk.loadUnaligned(as: UInt32.self).littleEndian
        let content = UnsafeRawBufferPointer(rebasing: chunk[4...])
        let count = isCompressed ? try size(of: content) : content.count
        guard count <= Self.chunkBytesMax else {
            throw .corrupt("a snappy chunk holds more than \(Self.chunkBytesMax) bytes")
        }
        guard count <= allowance - produced else { return nil }
        if memory.capacity - Self.spareBytes < produced + count {
            reserve(min((produced + count) * 2, allowance), keeping: produced)
        }
        producedBytes += count
        if isCompressed {
            try inflate(block: content, to: produced, count)
        } else if let start = content.baseAddress {
            (memory.start + produced).update(
                from: start.assumingMemoryBound(to: UInt8.self),
                count: count
            )
        }
        let written = UnsafeRawBufferPointer(start: memory.start + produced, count: count)
        guard CRC32C.masked(of: written) == wanted else {
            throw .corrupt("the snappy stream is damaged: a checksum differs")
        }
        return count
    }

    private func size(of block: UnsafeRawBufferPointer) throws(InflateError) -> Int {
        let source = block.baseAddress?.assumingMemoryBound(to: CChar.self)
        var size = 0
        guard snappy_uncompressed_length(source, block.count, &size) == SNAPPY_OK else {
            throw .corrupt("the snappy block does not tell the size of its content")
        }
        return size
    }

    private func inflate(
        block: UnsafeRawBufferPointer,
        to place: Int,
        _ size: Int
    ) throws(InflateError) {
        let source = block.baseAddress?.assumingMemoryBound(to: CChar.self)
        let target = UnsafeMutableRawPointer(memory.start + place)
            .assumingMemoryBound(to: CChar.self)
        var written = size
        guard snappy_uncompress(source, block.count, target, &written) == SNAPPY_OK,
            written == size
        else { throw .corrupt("the snappy block is damaged or cut off") }
    }
}
