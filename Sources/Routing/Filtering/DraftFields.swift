import Logs

/// The name of a field that a step makes.
struct NewName {
    let text: DraftText
    /// Its number in the program, or `TextIndex.none`.
    let number: Int
}

/// How often a draft was changed when its fields were saved.
struct DraftState {
    let changes: Int
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
