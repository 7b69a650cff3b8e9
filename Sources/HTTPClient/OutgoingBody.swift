package import Crypto

/// The body of a request, handed to curl piece by piece.
///
/// curl repeats a request by itself when a reused connection breaks without a response. That is
/// welcome, because servers close idle connections. But the server may have processed the first
/// copy: a packet in a lane is then refused, because its own first copy used up the sequence
/// number. So this type records the repetition when curl rewinds the body.
package struct OutgoingBody {
    package enum Content {
        case plain([UInt8])
        /// Read in place, because a copy would not be wiped.
        case secret(WipedBytes)

        var bytes: [UInt8] {
            switch self {
            case .plain(let bytes): bytes
            case .secret(let bytes): bytes.bytes
            }
        }
    }

    private let content: Content
    private var taken = 0
    /// Part of the body was sent more than once.
    package private(set) var isRepeated = false

    /// curl has read some of the body and may have sent it, even if the request failed later.
    package var isTaken: Bool { taken > 0 || isRepeated }

    package init(_ content: Content = .plain([])) {
        self.content = content
    }

    package var count: Int { content.bytes.count }

    /// Copies the next piece and returns its size; 0 at the end.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        content.bytes.withUnsafeBytes { bytes in
            let size = min(buffer.count, bytes.count - taken)
            guard size > 0 else { return 0 }
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + size]))
            taken += size
            return size
        }
    }

    /// Starts again from the beginning.
    mutating func rewind() {
        if taken > 0 { isRepeated = true }
        taken = 0
    }
}
