extension Inflater {
    /// The caller has held `rawBytes` against the limits.
    func inflateBlock(
        _ body: UnsafeRawBufferPointer,
        rawBytes: Int?
    ) throws(InflateError) -> Int {
        guard let rawBytes else { throw .sizeMissing }
        guard rawBytes >= 0 else { throw .sizeMismatch(declared: rawBytes, actual: nil) }
        // How far it comes in a damaged block nobody knows.
        producedBytes += rawBytes
        reserve(rawBytes, keeping: 0)
        let count = LZ4.decompress(body, to: memory.start, rawBytes: rawBytes)
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
}
