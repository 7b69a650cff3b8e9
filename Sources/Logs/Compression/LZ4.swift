import CLZ4

package struct LZ4Error: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Raw LZ4 blocks: no frame, no size in front, as SLS wants them.
package enum LZ4 {
    /// Always a legal block, also of nothing.
    package static func compress(_ raw: UnsafeRawBufferPointer) -> [UInt8] {
        precondition(raw.count <= LZ4_MAX_INPUT_SIZE, "an lz4 block holds less than 2 GiB")
        let bound = LZ4_compressBound(CInt(raw.count))
        return Array(scratch: Int(bound)) { place in
            let source = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            let written = LZ4_compress_default(source, place.chars, CInt(raw.count), bound)
            precondition(written > 0, "lz4 never fails with room for its bound")
            return Int(written)
        }
    }

    package static func compress(_ raw: [UInt8]) -> [UInt8] {
        raw.withUnsafeBytes { compress($0) }
    }

    /// The block's content, which must have exactly `rawBytes`.
    package static func decompress(
        _ block: UnsafeRawBufferPointer,
        rawBytes: Int
    ) throws(LZ4Error) -> [UInt8] {
        guard rawBytes >= 0, rawBytes / 255 <= block.count, rawBytes <= LZ4_MAX_INPUT_SIZE else {
            throw LZ4Error("an lz4 block of \(block.count) bytes cannot hold \(rawBytes)")
        }
        var written = 0
        let content = [UInt8](unsafeUninitializedCapacity: max(rawBytes, 1)) { buffer, filled in
            guard let place = buffer.baseAddress else { return }
            written = decompress(block, to: place, rawBytes: rawBytes)
            filled = max(written, 0)
        }
        guard written == rawBytes else {
            throw LZ4Error("the lz4 block is damaged, or does not hold \(rawBytes) bytes")
        }
        return content
    }

    package static func decompress(
        _ block: [UInt8],
        rawBytes: Int
    ) throws(LZ4Error) -> [UInt8] {
        try block.withUnsafeBufferPointer { block throws(LZ4Error) in
            try decompress(UnsafeRawBufferPointer(block), rawBytes: rawBytes)
        }
    }

    /// Bytes written, negative when the block is damaged or holds more.
    static func decompress(
        _ block: UnsafeRawBufferPointer,
        to place: UnsafeMutablePointer<UInt8>,
        rawBytes: Int
    ) -> Int {
        guard let source = block.baseAddress, block.count <= CInt.max else { return -1 }
        return Int(
            LZ4_decompress_safe(
                source.assumingMemoryBound(to: CChar.self),
                place.chars,
                CInt(block.count),
                CInt(rawBytes)
            )
        )
    }
}

extension UnsafeMutablePointer<UInt8> {
    fileprivate var chars: UnsafeMutablePointer<CChar> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: CChar.self)
    }
}

/// Joins LZ4 blocks into one without decompressing them: a log is compressed once in its life.
///
/// A block ends in literals without a match and starts with literals before its first match;
/// joined, the two become the literals of one sequence, and everything else stays as it is.
/// Offsets are relative and stay inside their own block, so they remain right.
///
/// The joined block is a list of pieces, so large blocks are not copied either.
package struct LZ4Stitcher {
    /// Smaller parts of blocks are copied: a piece keeps its whole block, and has a cost itself.
    private static let pieceBytesMin = 2048

    private var pieces: [ArraySlice<UInt8>] = []
    /// Finished sequences behind the pieces.
    private var finished: [UInt8] = []
    /// Literals whose sequence is still open.
    private var literals: [UInt8] = []
    /// What the block holds so far, decompressed.
    package private(set) var rawBytes = 0

    package init() {}

    /// Appends a complete block that must hold exactly `rawBytes`. A damaged block changes nothing.
    /// If `isOwn`, `LZ4.compress` made it and it never left memory: a walk would prove nothing.
    package mutating func append(
        _ block: [UInt8],
        rawBytes: Int,
        isOwn: Bool = false
    ) throws(LZ4Error) {
        // Typed throws do not pass through an array's withUnsafeBytes yet.
        let shape = try block.withUnsafeBufferPointer { block throws(LZ4Error) in
            let block = UnsafeRawBufferPointer(block)
            if isOwn, let own = LZ4Shape(ofOwn: block, rawBytes: rawBytes) { return own }
            return try LZ4Shape(of: block)
        }
        guard shape.rawBytes == rawBytes else {
            throw LZ4Error("the lz4 block holds \(shape.rawBytes) bytes instead of \(rawBytes)")
        }
        literals += block[shape.first]
        if let middle = shape.middle {
            closeSequence(match: shape.firstMatch)
            if middle.count < Self.pieceBytesMin {
                finished += block[middle]
            } else {
                closePiece()
                pieces.append(block[middle])
            }
            literals += block[shape.last]
        }
        self.rawBytes += rawBytes
    }

    /// Appends bytes as they are, such as a LogGroup's trailer.
    package mutating func append(literal bytes: [UInt8]) {
        literals += bytes
        rawBytes += bytes.count
    }

    /// The pieces of the joined block and the size of what it holds.
    package consuming func finish() -> (body: [ArraySlice<UInt8>], rawBytes: Int) {
        closeSequence(match: 0)
        closePiece()
        return (pieces, rawBytes)
    }

    private mutating func closeSequence(match: UInt8) {
        finished.append(UInt8(min(literals.count, 15)) << 4 | match)
        if literals.count >= 15 {
            let rest = literals.count - 15
            finished += repeatElement(255, count: rest / 255)
            finished.append(UInt8(rest % 255))
        }
        finished += literals
        literals.removeAll(keepingCapacity: true)
    }

    private mutating func closePiece() {
        pieces.append(finished[...])
        finished = []
    }
}
