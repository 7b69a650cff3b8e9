import Glibc

/// Texts of a program, numbered from 0, and found by their bytes with one hash and one comparison.
/// Their bytes lie side by side and never move.
final class TextIndex {
    private struct Slot {
        var hash: UInt64
        var number: Int
    }

    static let none = -1

    let bytes: UnsafePointer<UInt8>
    /// Where each text lies in the bytes.
    private let places: UnsafeMutablePointer<Range<Int>>
    private let slots: UnsafeMutablePointer<Slot>
    private let mask: Int
    private let count: Int

    init(_ texts: [[UInt8]]) {
        count = texts.count
        let total = texts.reduce(0) { $0 + $1.count }
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(total, 1))
        places = .allocate(capacity: max(texts.count, 1))
        var capacity = 8
        while capacity < texts.count * 2 { capacity *= 2 }
        mask = capacity - 1
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: Slot(hash: 0, number: Self.none), count: capacity)
        var end = 0
        for (number, text) in texts.enumerated() {
            let start = bytes + end
            for (offset, byte) in text.enumerated() { start[offset] = byte }
            (places + number).initialize(to: end..<end + text.count)
            end += text.count
            let hash = Self.hash(start, text.count)
            var slot = Int(truncatingIfNeeded: hash >> 32) & mask
            while slots[slot].number != Self.none { slot = (slot + 1) & mask }
            slots[slot] = Slot(hash: hash, number: number)
        }
        self.bytes = UnsafePointer(bytes)
    }

    deinit {
        bytes.deallocate()
        places.deallocate()
        slots.deallocate()
    }

    func place(_ number: Int) -> Range<Int> {
        precondition(number >= 0 && number < count, "a number that this index gave")
        return places[number]
    }

    /// The text's number, or `none`. Texts of an attacker cannot fill the table: only the program's
    /// are in it.
    @inline(__always)
    func number(_ text: UnsafePointer<UInt8>, _ count: Int) -> Int {
        let hash = Self.hash(text, count)
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while slots[slot].number != Self.none {
            if slots[slot].hash == hash {
                let place = places[slots[slot].number]
                if place.count == count, memcmp(bytes + place.lowerBound, text, count) == 0 {
                    return slots[slot].number
                }
            }
            slot = (slot + 1) & mask
        }
        return Self.none
    }

    @inline(__always)
    private static func hash(_ text: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        let raw = UnsafeRawPointer(text)
        var word: UInt64
        if count >= 8 {
            let last = raw.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            word = raw.loadUnaligned(as: UInt64.self) ^ (last &* 0xA076_1D64_78BD_642F)
        } else if count >= 4 {
            let last = raw.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
            word = UInt64(raw.loadUnaligned(as: UInt32.self)) << 32 | UInt64(last)
        } else if count > 0 {
            word = UInt64(text[0]) << 16 | UInt64(text[count / 2]) << 8 | UInt64(text[count - 1])
        } else {
            word = 0
        }
        word = (word ^ UInt64(truncatingIfNeeded: count)) &* 0xD6E8_FEB8_6659_FD93
        return (word ^ (word >> 32)) &* 0xD6E8_FEB8_6659_FD93
    }
}
