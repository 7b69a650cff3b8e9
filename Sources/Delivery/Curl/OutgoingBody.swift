/// The body of a request, as curl takes it piece by piece.
///
/// curl repeats a request by itself when its connection was used before and breaks without a word. That
/// is welcome, because servers close idle connections; but the first one may be stored, and then a
/// packet in a lane is refused for a number that it has used up itself. So it is noticed here, where
/// curl goes back to the beginning.
struct OutgoingBody {
    private var bytes: [UInt8] = []
    private var taken = 0
    /// A part of it was sent more than once.
    private(set) var isRepeated = false

    /// curl has taken something of it, and so may have sent it, whatever became of the request later.
    var isTaken: Bool { taken > 0 || isRepeated }

    init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    /// Copies what comes next, and tells how much that is; nothing at the end.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let size = min(buffer.count, bytes.count - taken)
        guard size > 0 else { return 0 }
        bytes.withUnsafeBytes { bytes in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + size]))
        }
        taken += size
        return size
    }

    /// Goes on from the beginning.
    mutating func rewind() {
        if taken > 0 { isRepeated = true }
        taken = 0
    }
}
