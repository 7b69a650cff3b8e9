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

/// Unconsumed input of one client: the body so far, followed by uninterpreted bytes.
///
/// The memory is the connection's own block, or the loop's scratch block, lent for one turn. Most
/// requests come whole in one read and never need memory of their own.
struct InputWindow {
    private(set) var block: BufferPool.Block?
    private(set) var isLent = false
    /// The decoded body so far is at `bodyStart..<bodyEnd`.
    var bodyStart = 0
    var bodyEnd = 0
    /// Uninterpreted bytes are at `start..<end`.
    var start = 0
    var end = 0
    /// The body must be kept.
    var holdsBody = false
    /// The body's memory must be wiped before reuse.
    private(set) var isSecret = false

    var unread: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: block.map { $0.memory + start }, count: end - start)
    }

    var body: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: block.map { $0.memory + bodyStart },
            count: bodyEnd - bodyStart
        )
    }

    var room: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(
            start: block.map { $0.memory + end },
            count: block.map { $0.capacity - end } ?? 0
        )
    }

    /// The number of bytes that must be kept.
    var liveCount: Int { end - liveStart }

    /// The limit of spare capacity in a block that is handed over with its body.
    private static let spareBytesMax = 64 << 10

    /// The size of the connection's own block; a lent block counts as zero.
    var ownBytes: Int { isLent ? 0 : block?.capacity ?? 0 }

    private var liveStart: Int { holdsBody ? bodyStart : start }

    mutating func lend(_ scratch: BufferPool.Block) {
        guard block == nil else { return }
        block = scratch
        isLent = true
        (bodyStart, bodyEnd, start, end) = (0, 0, 0, 0)
    }

    /// Puts the next bytes at the front of the empty block.
    mutating func rewind() {
        (bodyStart, bodyEnd, start, end) = (0, 0, 0, 0)
    }

    /// Marks the start of the next request's body.
    mutating func beginBody(isSecret: Bool = false) {
        holdsBody = true
        self.isSecret = isSecret
        bodyStart = start
        bodyEnd = start
    }

    mutating func endBody() {
        // Decoding may have left encoded bytes behind the body, so they are wiped too.
        if let block { wipe(block, from: bodyStart, to: start) }
        isSecret = false
        holdsBody = false
        if start == end { (start, end) = (0, 0) }
    }

    /// Moves the body out, as a copy unless this window owns a fitting block. Unread bytes stay.
    mutating func detachBody(from pool: inout BufferPool) -> DetachedBody? {
        guard let block else { return nil }
        let bodyRange = bodyStart..<bodyEnd
        guard !isLent, block.capacity - bodyRange.count <= Self.spareBytesMax else {
            let copy = BufferPool.allocate(bodyRange.count)
            copy.memory.copyMemory(from: block.memory + bodyStart, byteCount: bodyRange.count)
            endBody()
            return DetachedBody(copy, 0..<bodyRange.count)
        }
        let rest = unread
        self = InputWindow()
        if !rest.isEmpty {
            let own = pool.take(atLeast: rest.count)
            own.memory.copyMemory(from: rest.baseAddress!, byteCount: rest.count)
            self.block = own
            end = rest.count
        }
        return DetachedBody(block, bodyRange)
    }

    mutating func dropUnread() {
        start = end
    }

    /// Makes room behind the input, by moving it to the front or into a larger block.
    mutating func makeRoom(wantedCapacity: Int, from pool: inout BufferPool) {
        guard let block else { return }
        if wantedCapacity <= block.capacity, liveStart > 0 {
            move(to: block)
        } else {
            moveOut(capacity: max(wantedCapacity, liveCount + 1), to: &pool)
        }
    }

    /// Ends a turn: keeps needed bytes in an own block and gives back the rest.
    mutating func endTurn(wantedCapacity: Int, to pool: inout BufferPool) {
        guard let block else { return }
        if liveCount == 0 {
            if !isLent { pool.giveBack(block) }
            self.block = nil
            isLent = false
            (bodyStart, bodyEnd, start, end) = (0, 0, 0, 0)
        } else if isLent {
            moveOut(capacity: max(wantedCapacity, liveCount), to: &pool)
        }
    }

    mutating func discard(to pool: inout BufferPool) {
        if let block { wipe(block, from: liveStart, to: end) }
        if let block, !isLent { pool.giveBack(block) }
        self = InputWindow()
    }

    private mutating func moveOut(capacity: Int, to pool: inout BufferPool) {
        guard let old = block else { return }
        let wasLent = isLent
        move(to: pool.take(atLeast: capacity))
        isLent = false
        if !wasLent { pool.giveBack(old) }
    }

    private mutating func move(to target: BufferPool.Block) {
        guard let block else { return }
        let shift = liveStart
        target.memory.copyMemory(from: block.memory + shift, byteCount: liveCount)
        let isSame = target.memory == block.memory
        wipe(block, from: isSame ? max(liveCount, shift) : shift, to: end)
        self.block = target
        start -= shift
        end -= shift
        if holdsBody {
            bodyStart -= shift
            bodyEnd -= shift
        } else {
            (bodyStart, bodyEnd) = (0, 0)
        }
    }

    /// Wipes a secret body; does nothing for others.
    private func wipe(_ block: BufferPool.Block, from start: Int, to end: Int) {
        guard isSecret, holdsBody, start < end else { return }
        explicit_bzero(block.memory + start, end - start)
    }
}
