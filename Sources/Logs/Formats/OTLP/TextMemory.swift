/// Texts that are put together before it is known where they belong, one behind the other in one
/// memory. Whoever adds one remembers from where to where it goes.
///
/// The memory has a bound, since a text may become six times what it came in. What would exceed it is not
/// added, and whoever uses the texts asks whether that happened.
struct TextMemory: ~Copyable {
    private var memory = RawMemory(capacity: 4 << 10)
    private(set) var count = 0
    private var bytesMax = Int.max
    /// What there may be without growing.
    private var limit: Int
    /// Whether something was not added.
    private(set) var isExceeded = false

    init() {
        limit = memory.capacity
    }

    func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: memory.start + range.lowerBound, count: range.count)
    }

    mutating func start(atMost bytesMax: Int) {
        count = 0
        self.bytesMax = bytesMax
        limit = min(memory.capacity, bytesMax)
        isExceeded = false
    }

    /// Forgets what was added behind the first `count` bytes.
    mutating func cut(to count: Int) {
        self.count = min(count, self.count)
    }

    /// Forgets everything, and gives back what large texts needed.
    mutating func shrink(to bytes: Int) {
        count = 0
        memory.shrink(to: bytes)
        limit = min(memory.capacity, bytesMax)
    }

    mutating func append(_ byte: UInt8) {
        guard let place = room(1) else { return }
        place[0] = byte
        count += 1
    }

    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let start = text.baseAddress, let place = room(text.count) else { return }
        place.update(from: start, count: text.count)
        count += text.count
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Where the next bytes go, with room for so many; nil when they are too many.
    @inline(__always)
    private mutating func room(_ bytes: Int) -> UnsafeMutablePointer<UInt8>? {
        if bytes > limit - count, !grow(by: bytes) { return nil }
        return memory.start + count
    }

    @inline(never)
    private mutating func grow(by bytes: Int) -> Bool {
        guard bytes <= bytesMax - count else {
            isExceeded = true
            return false
        }
        let wanted = count + bytes
        memory.grow(to: max(wanted, min(wanted + wanted / 2, bytesMax)), keeping: count)
        limit = min(memory.capacity, bytesMax)
        return true
    }

    /// Adds as many bytes as `fill` says that it wrote, `most` at most.
    @inline(__always)
    mutating func append(most: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Int) {
        guard let place = room(most) else { return }
        count += fill(place)
    }

    /// The text in well-formed UTF-8: what is none becomes U+FFFD, in a new place.
    mutating func repair(_ range: Range<Int>) -> Range<Int>? {
        guard !text(range).isUTF8 else { return nil }
        let start = count
        // In steps, since the room that one needs at most counts against the bound.
        var source = 0
        while source < range.count {
            let (first, last) = (source, min(source + 4096, range.count))
            let written = count
            // The last character may reach beyond the step: four bytes where one was counted.
            append(most: UTF8Sequence.growth * (last - first) + 1) { place in
                // The memory may have moved to make room.
                let text = UnsafeBufferPointer(
                    start: UnsafePointer(place - written + range.lowerBound),
                    count: range.count
                )
                return UTF8Sequence.repair(text, &source, upTo: last, to: place)
            }
            guard source > first else { break }
        }
        return start..<count
    }
}
