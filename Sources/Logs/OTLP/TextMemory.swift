/// Texts that are put together before it is known where they belong, one behind the other in one
/// memory. Whoever adds one remembers from where to where it goes.
struct TextMemory: ~Copyable {
    private var memory = RawMemory(capacity: 4 << 10)
    private(set) var count = 0

    func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: memory.start + range.lowerBound, count: range.count)
    }

    /// Forgets what was added behind the first `count` bytes.
    mutating func cut(to count: Int) {
        self.count = min(count, self.count)
    }

    /// Forgets everything, and gives back what large texts needed.
    mutating func shrink(to bytes: Int) {
        count = 0
        memory.shrink(to: bytes)
    }

    mutating func append(_ byte: UInt8) {
        makeRoom(1)[0] = byte
        count += 1
    }

    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let start = text.baseAddress else { return }
        makeRoom(text.count).update(from: start, count: text.count)
        count += text.count
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Where the next bytes go, with room for so many.
    @inline(__always)
    private mutating func makeRoom(_ bytes: Int) -> UnsafeMutablePointer<UInt8> {
        let wanted = count + bytes
        if wanted > memory.capacity { memory.grow(to: wanted + wanted / 2, keeping: count) }
        return memory.start + count
    }

    /// Adds as many bytes as `fill` says that it wrote, `most` at most.
    @inline(__always)
    mutating func append(most: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Int) {
        count += fill(makeRoom(most))
    }
}
