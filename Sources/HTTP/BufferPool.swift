import Glibc

/// A loop's memory for input that is received and not yet consumed.
///
/// Idle connections hold none of it. Blocks of a power of two, up to a mebibyte, are kept for reuse
/// within the pool's bound.
struct BufferPool: ~Copyable {
    /// Readable bytes after the end of each block, which simdjson needs.
    static let spareBytes = 64
    private static let smallest = 1 << 10
    private static let largestKept = 1 << 20

    struct Block {
        let memory: UnsafeMutableRawPointer
        let capacity: Int
    }

    private let keptBytesMax: Int
    private var keptBytes = 0
    private var kept: [[UnsafeMutableRawPointer]]

    init(keptBytesMax: Int = 4 << 20) {
        self.keptBytesMax = keptBytesMax
        kept = Array(repeating: [], count: Self.largestKept.trailingZeroBitCount + 1)
    }

    deinit {
        for memory in kept.joined() { Glibc.free(memory) }
    }

    mutating func take(atLeast count: Int) -> Block {
        guard count <= Self.largestKept else { return Self.allocate(count) }
        let capacity = max(Self.smallest, Self.powerOfTwo(atLeast: count))
        guard let memory = kept[capacity.trailingZeroBitCount].popLast() else {
            return Self.allocate(capacity)
        }
        keptBytes -= capacity
        return Block(memory: memory, capacity: capacity)
    }

    mutating func giveBack(_ block: Block) {
        guard block.capacity <= Self.largestKept, keptBytes + block.capacity <= keptBytesMax,
            block.capacity.nonzeroBitCount == 1
        else {
            Self.free(block)
            return
        }
        keptBytes += block.capacity
        kept[block.capacity.trailingZeroBitCount].append(block.memory)
    }

    static func allocate(_ capacity: Int) -> Block {
        guard let memory = malloc(capacity + spareBytes) else { fatalError("out of memory") }
        return Block(memory: memory, capacity: capacity)
    }

    static func free(_ block: Block) {
        Glibc.free(block.memory)
    }

    private static func powerOfTwo(atLeast count: Int) -> Int {
        count <= 1 ? 1 : 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
    }
}
