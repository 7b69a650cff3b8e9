import Glibc

/// What has come from one client and is not used up: the body so far, then bytes still to be read.
///
/// The memory is the connection's own block, or the loop's scratch block, lent for one turn: most
/// requests come whole in one read and never need memory of their own.
struct InputWindow {
    private(set) var block: BufferPool.Block?
    private(set) var isLent = false
    /// The body so far, its coding undone, stands at `bodyStart..<bodyEnd`.
    var bodyStart = 0
    var bodyEnd = 0
    /// Bytes still to be interpreted stand at `start..<end`.
    var start = 0
    var end = 0
    /// Whether the body is to be kept.
    var holdsBody = false
    /// Whether the body's memory is wiped before others use it.
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

    /// How many bytes must not be lost.
    var liveCount: Int { end - liveStart }

    /// How much larger than its body a block may be that is given away with it.
    private static let spareBytesMax = 64 << 10

    /// Memory of its own; what is lent for a turn is not.
    var ownBytes: Int { isLent ? 0 : block?.capacity ?? 0 }

    private var liveStart: Int { holdsBody ? bodyStart : start }

    mutating func lend(_ scratch: BufferPool.Block) {
        guard block == nil else { return }
        block = scratch
        isLent = true
        (bodyStart, bodyEnd, start, end) = (0, 0, 0, 0)
    }

    /// Nothing is there: the next bytes go to the front of the block.
    mutating func rewind() {
        (bodyStart, bodyEnd, start, end) = (0, 0, 0, 0)
    }

    /// The body of the next request begins here.
    mutating func beginBody(isSecret: Bool = false) {
        holdsBody = true
        self.isSecret = isSecret
        bodyStart = start
        bodyEnd = start
    }

    mutating func endBody() {
        // Its coding may have left more behind it.
        if let block { wipe(block, from: bodyStart, to: start) }
        isSecret = false
        holdsBody = false
        if start == end { (start, end) = (0, 0) }
    }

    /// Moves the body out, with its block if this window owns one that fits, else as a copy. Unread bytes stay here.
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

    /// Makes room behind what is there: by moving it to the front, or into a larger block.
    mutating func makeRoom(wantedCapacity: Int, from pool: inout BufferPool) {
        guard let block else { return }
        if wantedCapacity <= block.capacity, liveStart > 0 {
            move(to: block)
        } else {
            moveOut(capacity: max(wantedCapacity, liveCount + 1), to: &pool)
        }
    }

    /// After a turn: keeps in a block of its own what must be kept, and gives back the rest.
    mutating func settle(wantedCapacity: Int, to pool: inout BufferPool) {
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

    /// Nothing, where there is no secret.
    private func wipe(_ block: BufferPool.Block, from start: Int, to end: Int) {
        guard isSecret, holdsBody, start < end else { return }
        explicit_bzero(block.memory + start, end - start)
    }
}
