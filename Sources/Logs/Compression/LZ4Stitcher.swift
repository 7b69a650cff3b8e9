/// Joins LZ4 blocks into one without decompressing them: a log is compressed once in its life.
///
/// A block ends in literals without a match and starts with literals before its first match;
/// joined, the two become the literals of one sequence, and everything else is copied. Offsets are
/// relative and stay inside their own block, so they remain right.
package struct LZ4Stitcher: ~Copyable {
    private var memory: RawMemory
    /// Bytes of finished sequences.
    private var finished = 0
    /// Literals whose sequence is still open. They lie `headroom` behind the finished bytes, so
    /// that token and length fit before them when it closes, and each literal moves once at most.
    private var literals = 0
    private var headroom: Int
    /// What the block holds so far, decompressed.
    package private(set) var rawBytes = 0

    /// - Parameter expected: the size of all parts together; more only costs a reallocation.
    package init(expecting expected: Int) {
        memory = RawMemory(capacity: Self.capacity(for: expected))
        headroom = Self.headroom(in: memory.capacity)
    }

    /// Appends a complete block that must hold exactly `rawBytes`. A damaged block changes nothing.
    package mutating func append(
        _ block: UnsafeRawBufferPointer,
        rawBytes: Int
    ) throws(LZ4Error) {
        let shape = try LZ4Shape(of: block)
        guard shape.rawBytes == rawBytes else {
            throw LZ4Error("the lz4 block holds \(shape.rawBytes) bytes instead of \(rawBytes)")
        }
        makeRoom(block.count)
        addLiterals(block, shape.first)
        if let middle = shape.middle {
            closeSequence(match: shape.firstMatch)
            copy(block, middle, to: memory.start + finished)
            finished += middle.count
            addLiterals(block, shape.last)
        }
        self.rawBytes += rawBytes
    }

    package mutating func append(_ block: [UInt8], rawBytes: Int) throws(LZ4Error) {
        // Typed throws do not pass through withUnsafeBytes of an array yet.
        let failure: LZ4Error? = block.withUnsafeBytes { block in
            do throws(LZ4Error) {
                try append(block, rawBytes: rawBytes)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Appends bytes as they are, such as a LogGroup's trailer.
    package mutating func append(literal bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            makeRoom(bytes.count)
            addLiterals(bytes, 0..<bytes.count)
        }
        rawBytes += bytes.count
    }

    /// The joined block and the size of what it holds.
    package consuming func finish() -> (body: [UInt8], rawBytes: Int) {
        makeRoom(0)
        closeSequence(match: 0)
        return (Array(copying: memory.start, count: finished), rawBytes)
    }

    private mutating func closeSequence(match: UInt8) {
        let held = memory.start + finished + headroom
        var place = memory.start + finished
        place.pointee = UInt8(min(literals, 15)) << 4 | match
        place += 1
        if literals >= 15 {
            let rest = literals - 15
            place.update(repeating: 255, count: rest / 255)
            place += rest / 255
            place.pointee = UInt8(rest % 255)
            place += 1
        }
        place.update(from: held, count: literals)
        finished = place - memory.start + literals
        literals = 0
    }

    private mutating func addLiterals(_ block: UnsafeRawBufferPointer, _ range: Range<Int>) {
        copy(block, range, to: memory.start + finished + headroom + literals)
        literals += range.count
    }

    private func copy(
        _ block: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        to place: UnsafeMutablePointer<UInt8>
    ) {
        guard let source = block.baseAddress, !range.isEmpty else { return }
        UnsafeMutableRawPointer(place).copyMemory(
            from: source + range.lowerBound,
            byteCount: range.count
        )
    }

    /// Room for so many bytes more, however many sequences they open.
    private mutating func makeRoom(_ count: Int) {
        let wanted = Self.capacity(for: finished + literals + count)
        guard wanted > memory.capacity else { return }
        memory.grow(to: wanted * 2, keeping: finished + headroom + literals)
        let held = memory.start + finished + headroom
        headroom = Self.headroom(in: memory.capacity)
        (memory.start + finished + headroom).update(from: held, count: literals)
    }

    /// Token and length bytes of the longest run of literals that fits.
    private static func headroom(in capacity: Int) -> Int { capacity / 255 + 16 }

    private static func capacity(for bytes: Int) -> Int { bytes + bytes / 64 + 128 }
}
