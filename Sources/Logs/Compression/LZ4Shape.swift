/// Where a block can be cut to join it to others: found by one walk over its tokens, which also
/// proves that the block is whole.
struct LZ4Shape: Equatable {
    /// Literals before the first match; all there is when the block has no match.
    var first: Range<Int>
    /// Match length bits of the first token.
    var firstMatch: UInt8 = 0
    /// From the first match's offset to the last token; nil when the block has no match.
    var middle: Range<Int>?
    /// Literals of the last sequence, which has no match.
    var last: Range<Int>
    var rawBytes: Int

    /// Blocks come from disk, so everything is checked that a decoder would trip over: lengths stay
    /// inside the block, offsets inside what it has produced, and the last bytes are literals.
    init(of block: UnsafeRawBufferPointer) throws(LZ4Error) {
        guard let start = block.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
            throw LZ4Error("an lz4 block has at least one byte")
        }
        let end = block.count
        var position = 0
        var produced = 0
        var lastMatchStart = 0
        var firstEnd = -1
        var firstStart = 0
        var nibble: UInt8 = 0
        while true {
            guard position < end else { throw Self.cutOff }
            let tokenPlace = position
            let token = start[position]
            position += 1
            var literals = Int(token >> 4)
            if literals == 15 {
                literals += try Self.extension(start, &position, end)
            }
            guard literals <= end - position else { throw Self.cutOff }
            let literalPlace = position
            position += literals
            produced += literals
            if position == end {
                guard token & 15 == 0 else {
                    throw LZ4Error("the lz4 block ends in a match without an offset")
                }
                guard firstEnd >= 0 else {
                    first = literalPlace..<end
                    middle = nil
                    last = end..<end
                    break
                }
                // The end rules of the format, which a decoder relies on to copy in large steps.
                guard literals >= 5, produced - lastMatchStart >= 12 else {
                    throw LZ4Error("the lz4 block ends too close to a match")
                }
                first = firstStart..<firstEnd
                firstMatch = nibble
                middle = firstEnd..<tokenPlace
                last = literalPlace..<end
                break
            }
            if firstEnd < 0 {
                (firstStart, firstEnd, nibble) = (literalPlace, position, token & 15)
            }
            guard end - position >= 2 else { throw Self.cutOff }
            let offset = Int(start[position]) | Int(start[position + 1]) << 8
            position += 2
            guard offset > 0, offset <= produced else {
                throw LZ4Error("an lz4 match at byte \(position - 2) reaches before the block")
            }
            var match = Int(token & 15)
            if match == 15 {
                match += try Self.extension(start, &position, end)
            }
            lastMatchStart = produced
            produced += match + 4
        }
        rawBytes = produced
    }

    /// The bytes that carry a length beyond 15: 255 as long as it goes on.
    @inline(__always)
    private static func `extension`(
        _ start: UnsafePointer<UInt8>,
        _ position: inout Int,
        _ end: Int
    ) throws(LZ4Error) -> Int {
        var length = 0
        while position < end {
            let byte = start[position]
            position += 1
            length += Int(byte)
            if byte < 255 { return length }
        }
        throw cutOff
    }

    private static var cutOff: LZ4Error { LZ4Error("the lz4 block is cut off") }
}
