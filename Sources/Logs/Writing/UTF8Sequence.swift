/// UTF-8 byte by byte (Unicode, table 3-7), for text that was found to be damaged.
enum UTF8Sequence {
    /// The length of the well-formed sequence that starts here; 0 when there is none.
    static func size(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        let wanted = wantedSize(text[start])
        return wanted > 0 && wellFormedBytes(text, start, of: wanted) == wanted ? wanted : 0
    }

    /// The length of what becomes one U+FFFD where no sequence is well-formed: the longest beginning of one, or
    /// a single byte (Unicode 3.9, as browsers decode).
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

    /// How many bytes may stand so at the beginning of a sequence of `wanted` bytes.
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
}
