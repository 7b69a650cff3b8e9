/// How many entries of a stream are trimmed at once. All replicas remove them before they append
/// again, and that takes as long as they are large, which only the stream's size tells afterwards.
struct TrimSteps {
    private static let bytesMax = 16 << 20
    private static let entriesMax: UInt64 = 1 << 20

    /// Pieces of a base, with which a log begins, have half a mebibyte.
    private var entries: UInt64 = 32
    private var bytesBefore: Int?

    /// The entries of the next step, of a stream that has so many bytes now.
    mutating func next(streamBytes: Int) -> UInt64 {
        if let bytesBefore {
            // Appends in between make it less.
            let removed = bytesBefore - streamBytes
            if removed > Self.bytesMax {
                entries = max(1, entries / 2)
            } else if removed < Self.bytesMax / 2 {
                entries = min(entries * 2, Self.entriesMax)
            }
        }
        bytesBefore = streamBytes
        return entries
    }
}
