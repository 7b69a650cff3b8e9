import Logs

/// The name of a field that a step makes.
struct NewName {
    let text: DraftText
    /// Its number in the program, or `TextIndex.none`.
    let number: Int
}

extension DraftField {
    /// Where the field lies in the input as it is still.
    @inline(__always)
    var encoded: Range<Int>? { start < 0 ? nil : start..<value.inputEnd }

    /// The bytes of name and value with their tags and lengths.
    var contentSize: Int {
        2 + Varint.size(name.count) + name.count + Varint.size(value.count) + value.count
    }

    /// The bytes of the encoded field.
    @inline(__always)
    var size: Int {
        if let encoded { return encoded.count }
        let content = contentSize
        return 1 + Varint.size(content) + content
    }
}

/// A list of fields in memory that is used for one log after the other, and a copy of it to go back
/// to.
///
/// A class: the compiler would check each access to a struct's memory in a draft at run time, a
/// fifth of the work.
final class DraftFields {
    private(set) var base: UnsafeMutablePointer<DraftField>
    private var capacity = 64
    var count = 0
    private var saved: UnsafeMutablePointer<DraftField>
    private var savedCapacity = 64
    private var savedCount = 0

    init() {
        base = .allocate(capacity: capacity)
        saved = .allocate(capacity: savedCapacity)
    }

    deinit {
        base.deallocate()
        saved.deallocate()
    }

    subscript(index: Int) -> DraftField {
        @inline(__always) get { base[index] }
    }

    @inline(__always)
    func append(_ field: DraftField) {
        if count == capacity { grow(to: 2 * capacity) }
        (base + count).initialize(to: field)
        count += 1
    }

    @inline(never)
    private func grow(to wanted: Int) {
        let larger = UnsafeMutablePointer<DraftField>.allocate(capacity: wanted)
        larger.update(from: base, count: count)
        base.deallocate()
        (base, capacity) = (larger, wanted)
    }

    func save() {
        if count > savedCapacity {
            saved.deallocate()
            savedCapacity = capacity
            saved = .allocate(capacity: savedCapacity)
        }
        saved.update(from: base, count: count)
        savedCount = count
    }

    func restore() {
        base.update(from: saved, count: savedCount)
        count = savedCount
    }

    /// Gives memory back. The list must be empty.
    func shrink(to most: Int) {
        precondition(count == 0, "fields that are in use stay")
        if capacity > most {
            base.deallocate()
            (base, capacity) = (.allocate(capacity: most), most)
        }
        if savedCapacity > most {
            saved.deallocate()
            (saved, savedCapacity, savedCount) = (.allocate(capacity: most), most, 0)
        }
    }
}

/// What steps wrote for the present log, in memory that is used again and again. A class for the
/// same reason as `DraftFields`.
final class NewText {
    /// The text that the steps of one log may write.
    private let most: Int
    private var memory = RawMemory(capacity: 4096)
    /// The start and size of `memory`, read here without a check at run time.
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
