import Glibc

/// Where a block can be cut to join it to others. One walk over its tokens finds that, and proves
/// that the block is whole; for our own blocks there is a shorter way.
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
        var first: Range<Int>?
        while true {
            guard position < end else { throw Self.cutOff }
            let tokenPlace = position
            let token = start[position]
            position += 1
            var literals = Int(token >> 4)
            if literals == 15 { literals += try Self.extension(start, &position, end) }
            guard literals <= end - position else { throw Self.cutOff }
            let literalPlace = position
            position += literals
            produced += literals
            if position == end {
                guard token & 15 == 0 else {
                    throw LZ4Error("the lz4 block ends in a match without an offset")
                }
                guard let first else {
                    (self.first, last) = (literalPlace..<end, end..<end)
                    break
                }
                // The end rules of the format, which a decoder relies on to copy in large steps.
                guard literals >= 5, produced - lastMatchStart >= 12 else {
                    throw LZ4Error("the lz4 block ends too close to a match")
                }
                self.first = first
                (middle, last) = (first.upperBound..<tokenPlace, literalPlace..<end)
                break
            }
            if first == nil { (first, firstMatch) = (literalPlace..<position, token & 15) }
            guard end - position >= 2 else { throw Self.cutOff }
            let offset = Int(start[position]) | Int(start[position + 1]) << 8
            position += 2
            guard offset > 0, offset <= produced else {
                throw LZ4Error("an lz4 match at byte \(position - 2) reaches before the block")
            }
            var match = Int(token & 15)
            if match == 15 { match += try Self.extension(start, &position, end) }
            lastMatchStart = produced
            produced += match + 4
        }
        rawBytes = produced
    }

    /// The shape of a block that is known to be whole; nil if only a walk over its tokens can tell.
    ///
    /// The last token says how many literals follow it until the block's end. Rarely another byte
    /// says so by chance; if only one does, it is the token.
    init?(ofOwn block: UnsafeRawBufferPointer, rawBytes: Int) {
        let end = block.count
        guard let start = block.baseAddress?.assumingMemoryBound(to: UInt8.self), end > 0 else {
            return nil
        }
        var position = 1
        var literals = Int(start[0] >> 4)
        if literals == 15 {
            guard let more = try? Self.extension(start, &position, end) else { return nil }
            literals += more
        }
        self.rawBytes = rawBytes
        guard literals <= end - position else { return nil }
        first = position..<position + literals
        last = end..<end
        guard first.upperBound < end else { return }
        firstMatch = start[0] & 15
        // The first match's offset comes before any other token.
        guard let token = Self.lastToken(start, first.upperBound + 2, end) else { return nil }
        middle = first.upperBound..<token.place
        last = token.literals..<end
    }

    /// The only place from `begin` on that can be the last token, and where its literals start.
    private static func lastToken(
        _ start: UnsafePointer<UInt8>,
        _ begin: Int,
        _ end: Int
    ) -> (place: Int, literals: Int)? {
        var found: (place: Int, literals: Int)?
        // A block with a match ends in five literals or more.
        for literals in 5..<15 where begin < end - literals {
            let place = end - literals - 1
            guard start[place] == UInt8(literals << 4) else { continue }
            guard found == nil else { return nil }
            found = (place, place + 1)
        }
        var place = begin
        while place < end, let next = memchr(start + place, 0xF0, end - place) {
            place = UnsafeRawPointer(next) - UnsafeRawPointer(start) + 1
            var position = place
            guard let more = try? Self.extension(start, &position, end),
                position + 15 + more == end
            else { continue }
            guard found == nil else { return nil }
            found = (place - 1, position)
        }
        return found
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
