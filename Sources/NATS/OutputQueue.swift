/// Bytes that wait to be sent.
struct OutputQueue: Sendable {
    /// Smaller messages leave together.
    private static let pieceBytes = 16 << 10

    private var pieces: [[UInt8]] = []
    /// The place of the first piece that is not sent yet.
    private var first = 0
    /// How much of it is sent.
    private var sentBytes = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { byteCount == 0 }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        byteCount += bytes.count
        if let last = pieces.indices.last, pieces[last].count + bytes.count <= Self.pieceBytes {
            pieces[last] += bytes
        } else {
            pieces.append(bytes)
        }
    }

    /// Gives all bytes away.
    mutating func take() -> OutputQueue {
        defer { self = OutputQueue() }
        return self
    }

    /// Lends bytes from the front on. There must be some.
    func withFront<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        pieces[first].withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[sentBytes...])) }
    }

    /// Removes bytes that were lent and are sent.
    mutating func remove(_ count: Int) {
        byteCount -= count
        sentBytes += count
        guard sentBytes == pieces[first].count else { return }
        pieces[first] = []
        (first, sentBytes) = (first + 1, 0)
        guard first == pieces.count else { return }
        self = OutputQueue()
    }
}
