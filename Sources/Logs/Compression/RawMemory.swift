import Glibc

/// Owned memory that grows on request and is never zeroed: zeroing bytes that are overwritten
/// anyway costs as much as a good part of decoding them.
package struct RawMemory: ~Copyable {
    /// What a thread's decoders and inflater keep allocated from body to body.
    package static let keptBytes = 256 << 10

    package private(set) var start: UnsafeMutablePointer<UInt8>
    package private(set) var capacity: Int

    package init(capacity: Int) {
        self.capacity = max(capacity, 64)
        start = allocated(malloc(self.capacity))
    }

    deinit { free(start) }

    /// Makes the memory at least so large; the first `kept` bytes stay, at a new place perhaps.
    package mutating func grow(to wanted: Int, keeping kept: Int) {
        guard wanted > capacity else { return }
        if kept == 0 {
            // Nothing to move: realloc would copy.
            free(start)
            start = allocated(malloc(wanted))
        } else {
            start = allocated(realloc(start, wanted))
        }
        capacity = wanted
    }

    /// Gives memory beyond `size` back; its content is lost then.
    package mutating func shrink(to size: Int = keptBytes) {
        guard capacity > size else { return }
        free(start)
        capacity = max(size, 64)
        start = allocated(malloc(capacity))
    }
}

private func allocated(_ memory: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<UInt8> {
    guard let memory else { preconditionFailure("the system has no memory left") }
    return memory.assumingMemoryBound(to: UInt8.self)
}

extension [UInt8] {
    /// An array of exactly as many bytes as `fill` reports, worked out in scratch memory.
    init(scratch: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Int) {
        let memory = RawMemory(capacity: scratch)
        let count = fill(memory.start)
        self.init(copying: memory.start, count: count)
    }

    package init(copying start: UnsafePointer<UInt8>, count: Int) {
        self.init(UnsafeBufferPointer(start: start, count: count))
    }
}
