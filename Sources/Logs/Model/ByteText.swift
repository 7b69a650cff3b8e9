import Glibc

extension UnsafeBufferPointer<UInt8> {
    @inline(__always)
    func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard let first = baseAddress, let second = other.baseAddress else { return true }
        return memcmp(first, second, count) == 0
    }

    /// True when this text comes first by its bytes.
    @inline(__always)
    func precedes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = baseAddress, let second = other.baseAddress else {
            return count < other.count
        }
        let order = memcmp(first, second, Swift.min(count, other.count))
        return order == 0 ? count < other.count : order < 0
    }
}

extension UInt8 {
    /// True for ASCII that a JSON string cannot hold as it is.
    @inline(__always)
    var needsJSONEscape: Bool {
        self < 0x20 || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\")
    }

    /// The hexadecimal digit of a value below 16.
    static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension String {
    /// True when the bytes are the same. `==` compares canonical forms, which costs a hundred times
    /// as much for text that is not ASCII, and takes different texts for the same.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

/// Bytes as a key, hashed at once: an array hashes its elements one by one.
struct ByteKey: Hashable {
    var bytes: [UInt8] = []

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes.count)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// A text in a set or a dictionary, compared by its bytes, as `hasSameBytes` does.
package struct ByteText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: ByteText, right: ByteText) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// Finds texts by their bytes: open addressing over the numbers that an owner gives to its texts.
///
/// Swift's `String` compares and hashes in canonical form, which costs a hundred times as much for
/// text that is not ASCII, and takes texts of different bytes for the same. The hash function is
/// seeded for each process, so an attacker cannot choose texts that collide.
struct ByteIndex {
    private static let firstSlots = 32

    /// The hash in the upper half, the number plus one in the lower half; zero is an empty slot.
    /// Their count is a power of two, or zero.
    private var slots: [UInt64] = []
    private(set) var count = 0

    /// Forgets all texts, and gives many slots back: clearing those would slow down later uses.
    mutating func removeAll(keeping slotsMax: Int = 1024) {
        guard count > 0 else { return }
        if slots.count > slotsMax {
            slots = []
        } else {
            for slot in slots.indices { slots[slot] = 0 }
        }
        count = 0
    }

    static func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(text))
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    /// The number of a text with this hash that the owner takes for the same.
    func number(_ hash: UInt32, where isSame: (Int) -> Bool) -> Int? {
        guard count > 0 else { return nil }
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(UInt32(truncatingIfNeeded: slots[slot])) - 1
            if UInt32(truncatingIfNeeded: slots[slot] >> 32) == hash, isSame(number) {
                return number
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a text that is not there. The number is below 2^32 - 1.
    mutating func insert(_ hash: UInt32, _ number: Int) {
        if (count + 1) * 2 > slots.count { grow() }
        put(Self.entry(hash, number))
        count += 1
    }

    /// Gives a text that is there another number.
    mutating func replace(_ number: Int, _ hash: UInt32, by new: Int) {
        let entry = Self.entry(hash, number)
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != entry { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Self.entry(hash, new)
    }

    private static func entry(_ hash: UInt32, _ number: Int) -> UInt64 {
        UInt64(hash) << 32 | UInt64(number + 1)
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: 0, count: max(Self.firstSlots, 2 * old.count))
        for entry in old where entry != 0 { put(entry) }
    }

    private mutating func put(_ entry: UInt64) {
        var slot = Int(entry >> 32) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = entry
    }
}
