/// Memory that logs are written to: the first `length` bytes are written for good.
struct LogOutput: ~Copyable {
    /// The bytes that a log and a field need besides their text, and what word copies overshoot.
    static let slack = 96

    private var memory = RawMemory(capacity: 16 << 10)
    var length = 0

    var start: UnsafeMutablePointer<UInt8> {
        @inline(__always) get { memory.start }
    }

    /// Where the next byte belongs.
    var end: UnsafeMutablePointer<UInt8> {
        @inline(__always) get { memory.start + length }
    }

    var capacity: Int { memory.capacity }

    /// A text in the memory, valid until something is written.
    func text(at offset: Int, _ count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: memory.start + offset, count: count)
    }

    /// Makes room for so many bytes and the slack.
    @inline(__always)
    mutating func makeRoom(forBytes count: Int) {
        let wanted = length + count + Self.slack
        if wanted > memory.capacity { grow(to: wanted) }
    }

    @inline(never)
    private mutating func grow(to wanted: Int) {
        memory.grow(to: wanted + wanted / 2, keeping: length)
    }

    /// Gives back the memory of a large body. What is written is lost.
    mutating func shrink() { memory.shrink() }
}
