/// How much work the content of a request is, estimated before it is read.
///
/// The work follows from lines, tokens and characters that need care more than from bytes: a mebibyte of one-byte lines
/// costs twenty times as much as a mebibyte of ordinary JSON. An event loop runs a request only if its estimate is short.
enum ContentCost {
    /// The most expensive content of this size takes about 5 ms of an idle core; see `Scripts/prove cost`.
    static let shortBytes = 128 << 10

    private static let textBytesMax = 1 << 20
    /// In nanoseconds of an idle core, like the other two.
    private static let textMax = 5 << 20
    private static let perByte = 1
    /// The most expensive text has a mark for each 42 ns of work: a line end, a quote, a byte that is not ASCII.
    private static let perMark = 40

    static func isShort(text: UnsafeRawBufferPointer) -> Bool {
        // Most text beyond this size has too many marks, and counting has a cost too.
        guard text.count <= textBytesMax else { return false }
        return text.count * perByte + marks(in: text) * perMark <= textMax
    }

    /// Counts the bytes that are no ASCII letter, digit or blank: 10 GB/s, with 16 bytes at a time.
    static func marks(in text: UnsafeRawBufferPointer) -> Int {
        typealias Lanes = SIMD16<UInt8>
        let (zeros, ones) = (Lanes(repeating: 0), Lanes(repeating: 1))
        let blank = Lanes(repeating: 0x20)
        var count = 0
        var position = 0
        while text.count - position >= Lanes.scalarCount {
            // A lane holds a count of up to 255.
            let end = min(text.count - Lanes.scalarCount + 1, position + 255 * Lanes.scalarCount)
            var found = zeros
            while position < end {
                let bytes = text.loadUnaligned(fromByteOffset: position, as: Lanes.self)
                let isLetter = ((bytes | blank) &- Lanes(repeating: 0x61)) .< Lanes(repeating: 26)
                let isDigit = (bytes &- Lanes(repeating: 0x30)) .< Lanes(repeating: 10)
                let isPlain = isLetter .| isDigit .| (bytes .== blank)
                found &+= ones.replacing(with: zeros, where: isPlain)
                position += Lanes.scalarCount
            }
            for lane in found.indices { count += Int(found[lane]) }
        }
        // The rest counts as marks, which overestimates by 15 at most.
        return count + text.count - position
    }
}
