import Logs

/// What steps wrote for the present log, in memory that is used again and again. A class for the
/// same reason as `DraftFields`.
final class NewText {
    /// The text that the steps of one log may write.
    private let most: Int
    private var memory = RawMemory(capacity: 4096)
    /// Those of `memory`, to be read without a check at run time.
    private(set) var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    var count = 0

    init(most: Int) {
        self.most = most
        (start, capacity) = (memory.start, memory.capacity)
    }

    /// Makes room for so many bytes. The text may move.
    @inline(__always)
    func reserve(_ more: Int) throws(StepFailure) {
        guard more <= most - count else { throw .tooMuchText }
        if count + more > capacity { grow(to: count + more) }
    }

    @inline(never)
    private func grow(to wanted: Int) {
        memory.grow(to: wanted + wanted / 2, keeping: count)
        (start, capacity) = (memory.start, memory.capacity)
    }

    /// Gives memory beyond `size` back. No text must be left.
    func shrink(to size: Int) {
        precondition(count == 0, "text that is in use stays")
        memory.shrink(to: size)
        (start, capacity) = (memory.start, memory.capacity)
    }

    /// Room must have been made.
    @inline(__always)
    func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        precondition(bytes.count <= capacity - count)
        guard let source = bytes.baseAddress else { return }
        (start + count).update(from: source, count: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    func append(_ byte: UInt8, times: Int) {
        precondition(times <= capacity - count)
        (start + count).update(repeating: byte, count: times)
        count += times
    }
}
