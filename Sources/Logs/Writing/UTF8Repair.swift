extension UTF8Sequence {
    /// How much longer text may become when it is repaired.
    static let growth = 3
    /// The bytes of the longest character.
    static let longest = 4

    /// Copies text with U+FFFD in the place of each maximal part that is not UTF-8, as Unicode recommends (3.9), and returns how
    /// many bytes that makes. `String` does the same for many times the cost.
    static func repair(
        _ text: UnsafeBufferPointer<UInt8>,
        to place: UnsafeMutablePointer<UInt8>
    ) -> Int {
        var source = 0
        return repair(text, &source, upTo: text.count, to: place)
    }

    /// The part of it that starts at `source` and ends with the last character that begins before `end`, where `source` is then.
    static func repair(
        _ text: UnsafeBufferPointer<UInt8>,
        _ source: inout Int,
        upTo end: Int,
        to place: UnsafeMutablePointer<UInt8>
    ) -> Int {
        var target = 0
        while source < end {
            let byte = text[source]
            if byte < 0x80 {
                place[target] = byte
                (source, target) = (source + 1, target + 1)
                continue
            }
            let size = size(text, source)
            if size > 0 {
                for offset in 0..<size { place[target + offset] = text[source + offset] }
                (source, target) = (source + size, target + size)
            } else {
                (place[target], place[target + 1], place[target + 2]) = (0xEF, 0xBF, 0xBD)
                (source, target) = (source + damagedSize(text, source), target + growth)
            }
        }
        return target
    }
}
