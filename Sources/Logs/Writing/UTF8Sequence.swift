import CSimdjson

/// UTF-8 byte by byte (Unicode, table 3-7), for text that is damaged.
enum UTF8Sequence {
    /// The length of the well-formed sequence that starts here; 0 when there is none.
    static func size(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        let wanted = wantedSize(text[start])
        return wanted > 0 && wellFormedBytes(text, start, of: wanted) == wanted ? wanted : 0
    }

    /// The length of the damaged bytes that become one U+FFFD: the longest beginning of a sequence,
    /// or a single byte (Unicode 3.9, as browsers decode).
    static func damagedSize(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        max(1, wellFormedBytes(text, start, of: wantedSize(text[start])))
    }

    /// 0 for a byte that starts no sequence.
    private static func wantedSize(_ first: UInt8) -> Int {
        switch first {
        case ..<0x80: 1
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 0
        }
    }

    /// How many bytes from here on are the beginning of a sequence of `wanted` bytes.
    private static func wellFormedBytes(
        _ text: UnsafeBufferPointer<UInt8>,
        _ start: Int,
        of wanted: Int
    ) -> Int {
        var count = min(wanted, 1)
        while count < wanted, start + count < text.count {
            let allowed: ClosedRange<UInt8> =
                switch (count, text[start]) {
                case (1, 0xE0): 0xA0...0xBF
                case (1, 0xED): 0x80...0x9F
                case (1, 0xF0): 0x90...0xBF
                case (1, 0xF4): 0x80...0x8F
                default: 0x80...0xBF
                }
            guard allowed ~= text[start + count] else { break }
            count += 1
        }
        return count
    }

    // MARK: - Repair

    /// Repaired text may become so many times longer.
    static let growth = 3
    /// The bytes of the longest character.
    static let longest = 4

    /// Copies text with U+FFFD in place of each maximal part that is not UTF-8, as Unicode
    /// recommends (3.9), and returns the size of the copy. `String` does the same at many times the
    /// cost.
    static func repair(
        _ text: UnsafeBufferPointer<UInt8>,
        to place: UnsafeMutablePointer<UInt8>
    ) -> Int {
        var source = 0
        return repair(text, &source, upTo: text.count, to: place)
    }

    /// Copies the part that starts at `source` and ends with the last character that begins before
    /// `end`. `source` stands behind it then.
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

extension UnsafeBufferPointer<UInt8> {
    /// True for well-formed UTF-8 (Unicode, table 3-7).
    @inline(__always)
    var isUTF8: Bool {
        guard let start = baseAddress, count > 0 else { return true }
        // Most texts are short and ASCII, which is found out in less time than a call takes.
        return count <= 64 && Self.highBits(start, count) == 0 || sluice_utf8_is_valid(start, count)
    }

    /// Zero when all bytes are ASCII.
    @inline(__always)
    private static func highBits(_ start: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        let raw = UnsafeRawPointer(start)
        var bits: UInt64 = 0
        var offset = 0
        while offset + 8 <= count {
            bits |= raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < count {
            bits |= UInt64(start[offset])
            offset += 1
        }
        return bits & 0x8080_8080_8080_8080
    }
}
