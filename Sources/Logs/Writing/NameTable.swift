/// Finds names of a log that has very many of them: where their fields start in the writer's
/// memory. It uses open addressing, since a log may have a million names of three bytes. A slot
/// takes eight bytes, and at most three quarters of the slots are taken.
///
/// Swift's own hash function is seeded for each process, so an attacker cannot choose names that
/// collide.
struct NameTable: ~Copyable {
    /// The slots that stay allocated between logs.
    private static let keptPlaces = 1 << 12
    private static let firstPlaces = 1 << 8
    /// The low bits of a slot: the start of a field plus one, so that zero is an empty slot. The
    /// other bits are a part of the name's hash.
    private static let contentBits: UInt64 = 40
    private static let contentMask: UInt64 = 1 << contentBits - 1

    private var slots: UnsafeMutablePointer<UInt64>?
    /// A power of two.
    private var slotCount = 0
    private(set) var count = 0

    deinit { slots?.deallocate() }

    var isEmpty: Bool { count == 0 }

    mutating func clear() {
        if slotCount > Self.keptPlaces {
            slots?.deallocate()
            (slots, slotCount) = (nil, 0)
        }
        slots?.update(repeating: 0, count: slotCount)
        count = 0
    }

    /// Remembers where the field of a name starts, and returns where an earlier one does.
    mutating func update(
        _ name: UnsafeBufferPointer<UInt8>,
        _ content: Int,
        _ memory: UnsafeMutablePointer<UInt8>
    ) -> Int? {
        if (count + 1) * 4 > slotCount * 3 { grow(memory) }
        guard let slots else { return nil }
        let hash = Self.hash(name)
        let sign = hash & ~Self.contentMask
        let entry = sign | UInt64(content + 1)
        var slot = Int(truncatingIfNeeded: hash) & (slotCount - 1)
        while slots[slot] != 0 {
            let other = slots[slot]
            if other & ~Self.contentMask == sign {
                let earlier = Self.content(other)
                if name.hasSameBytes(as: FieldNames.key(of: earlier, memory)) {
                    slots[slot] = entry
                    return earlier
                }
            }
            slot = (slot + 1) & (slotCount - 1)
        }
        slots[slot] = entry
        count += 1
        return nil
    }

    private mutating func grow(_ memory: UnsafeMutablePointer<UInt8>) {
        let (old, oldCount) = (slots, slotCount)
        slotCount = max(Self.firstPlaces, 2 * oldCount)
        let new = UnsafeMutablePointer<UInt64>.allocate(capacity: slotCount)
        new.initialize(repeating: 0, count: slotCount)
        for entry in UnsafeBufferPointer(start: old, count: oldCount) where entry != 0 {
            let hash = Self.hash(FieldNames.key(of: Self.content(entry), memory))
            var slot = Int(truncatingIfNeeded: hash) & (slotCount - 1)
            while new[slot] != 0 { slot = (slot + 1) & (slotCount - 1) }
            new[slot] = entry
        }
        old?.deallocate()
        slots = new
    }

    private static func content(_ entry: UInt64) -> Int {
        Int(truncatingIfNeeded: entry & contentMask) - 1
    }

    private static func hash(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(name))
        return UInt64(truncatingIfNeeded: hasher.finalize())
    }
}
