/// How much work the content of a request is, estimated before it is read.
///
/// The work follows from lines, tokens and characters that need care more than from bytes: a
/// mebibyte of one-byte lines costs twenty times as much as a mebibyte of ordinary JSON. An event
/// loop runs a request only if its estimate is short.
enum ContentCost {
    /// The most expensive content of this size takes about 5 ms of an idle core; see `Scripts/prove
    /// cost`.
    static let shortBytes = 128 << 10

    /// Text of more bytes is never short.
    private static let textBytesMax = 1 << 20
    // Times of an idle core, measured with the most expensive text: one-byte lines and empty names.
    private static let nanosecondsMax = 5_000_000
    private static let nanosecondsPerByte = 1
    /// A byte that is no ASCII letter, digit or blank.
    private static let nanosecondsPerMark = 18
    /// A line end, in addition to the mark that it is.
    private static let nanosecondsPerLine = 22

    static func isShort(text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= textBytesMax else { return false }
        let (marks, lines) = count(in: text)
        return text.count * nanosecondsPerByte + marks * nanosecondsPerMark
            + lines * nanosecondsPerLine <= nanosecondsMax
    }

    /// Counts marks and line ends, 16 bytes at a time: several gigabytes a second.
    private static func count(in text: UnsafeRawBufferPointer) -> (marks: Int, lines: Int) {
        typealias Lanes = SIMD16<UInt8>
        let (zeros, ones) = (Lanes(repeating: 0), Lanes(repeating: 1))
        let blank = Lanes(repeating: 0x20)
        var (marks, lines, position) = (0, 0, 0)
        while text.count - position >= Lanes.scalarCount {
            // A lane counts to 255.
            let end = min(text.count - Lanes.scalarCount + 1, position + 255 * Lanes.scalarCount)
            var (foundMarks, foundLines) = (zeros, zeros)
            while position < end {
                let bytes = text.loadUnaligned(fromByteOffset: position, as: Lanes.self)
                let isLetter = ((bytes | blank) &- Lanes(repeating: 0x61)) .< Lanes(repeating: 26)
                let isDigit = (bytes &- Lanes(repeating: 0x30)) .< Lanes(repeating: 10)
                let isPlain = isLetter .| isDigit .| (bytes .== blank)
                let isLine = bytes .== Lanes(repeating: 0x0A)
                foundMarks &+= ones.replacing(with: zeros, where: isPlain)
                foundLines &+= zeros.replacing(with: ones, where: isLine)
                position += Lanes.scalarCount
            }
            for lane in zeros.indices {
                marks += Int(foundMarks[lane])
                lines += Int(foundLines[lane])
            }
        }
        // The rest counts as marks, which overestimates by 15 at most.
        return (marks + text.count - position, lines)
    }
}
