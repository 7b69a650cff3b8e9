import CSnappy

extension Inflater {
    /// A copy of 64 bytes takes three at least, so no block holds more for each of its bytes.
    private static let mostPerByte = 22

    /// One raw block, which begins with the size of its content.
    func inflateSnappy(
        _ body: UnsafeRawBufferPointer,
        _ limit: InflateLimit
    ) throws(InflateError) -> Int {
        let source = body.baseAddress?.assumingMemoryBound(to: CChar.self)
        var size = 0
        guard snappy_uncompressed_length(source, body.count, &size) == SNAPPY_OK else {
            throw .corrupt("the snappy block does not tell the size of its content")
        }
        guard size <= limit.allowance(for: body.count) else {
            throw limit.exceeded(by: body.count)
        }
        guard size / Self.mostPerByte <= body.count else {
            throw .corrupt("a snappy block of \(body.count) bytes cannot hold \(size)")
        }
        producedBytes += size
        reserve(size, keeping: 0)
        var written = size
        let place = UnsafeMutableRawPointer(memory.start).assumingMemoryBound(to: CChar.self)
        guard snappy_uncompress(source, body.count, place, &written) == SNAPPY_OK,
            written == size
        else { throw .corrupt("the snappy block is damaged or cut off") }
        return size
    }
}
