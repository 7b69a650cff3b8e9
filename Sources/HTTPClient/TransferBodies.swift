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
        /// Sent one after the other, without being joined.
        case pieces([ArraySlice<UInt8>])
        /// Read in place, because a copy would not be wiped.
        case secret(WipedBytes)

        fileprivate var pieces: Int {
            if case .pieces(let pieces) = self { pieces.count } else { 1 }
        }

        fileprivate func withPiece(_ index: Int, _ read: (UnsafeRawBufferPointer) -> Int) -> Int {
            switch self {
            case .plain(let bytes): bytes.withUnsafeBytes(read)
            case .pieces(let pieces): pieces[index].withUnsafeBytes(read)
            case .secret(let bytes): bytes.bytes.withUnsafeBytes(read)
            }
        }
    }

    private let content: Content
    /// Where the next byte is: a piece, and the place in it.
    private var piece = 0
    private var offset = 0
    private var taken = 0
    /// Part of the body was sent more than once.
    package private(set) var isRepeated = false

    /// curl has read some of the body and may have sent it, even if the request failed later.
    package var isTaken: Bool { taken > 0 || isRepeated }

    package init(_ content: Content = .plain([])) {
        self.content = content
    }

    package var count: Int {
        (0..<content.pieces).reduce(0) { $0 + content.withPiece($1, \.count) }
    }

    /// Copies the next bytes and returns their number; 0 at the end.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < buffer.count, piece < content.pieces {
            let size = content.withPiece(piece) { bytes in
                let size = min(buffer.count - filled, bytes.count - offset)
                let part = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + size])
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: part)
                return size
            }
            filled += size
            offset += size
            if filled < buffer.count { (piece, offset) = (piece + 1, 0) }
        }
        taken += filled
        return filled
    }

    /// Starts again from the beginning.
    mutating func rewind() {
        isRepeated = isTaken
        (piece, offset, taken) = (0, 0, 0)
    }
}

/// The parts of an arriving response that the caller wants. A server may send anything, so every
/// part is bounded.
struct ReceivedResponse {
    static let headBytesMax = 64 << 10
    static let valueBytesMax = 256

    private let use: ResponseUse
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8] = []
    /// The reason why the rest of the response is refused.
    private(set) var refusal: ResponseRefusal?
    /// The response has a body that the caller does not want. Its head is complete, so the transfer
    /// succeeded.
    private(set) var isBodyLeftOut = false

    private var headBytes = 0
    private var bodyBytes = 0
    private var length: Int?

    init(_ use: ResponseUse) {
        self.use = use
    }

    /// Takes one header line, the status line included; returns whether to continue.
    mutating func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.headBytesMax else { return refuse(.headTooLarge) }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // A response after a 100 Continue starts over.
            headers = []
            length = nil
            return true
        }
        guard let colon = text.firstIndex(of: ":") else { return true }
        let name = Self.trimmed(text[..<colon]).lowercased()
        let value = Self.trimmed(text[text.index(after: colon)...])
        if name == "content-length", !takeLength(value) { return refuse(.lengthUnclear) }
        if use.headers.contains(name), !value.isEmpty, value.utf8.count <= Self.valueBytesMax {
            headers.append((name, String(value)))
        }
        return true
    }

    /// Takes a piece of the body; returns whether to continue. `status` is the response's status.
    mutating func receive(body piece: UnsafeRawBufferPointer, status: @autoclosure () -> Int)
        -> Bool
    {
        switch use.body {
        case .first(let kept, let max):
            bodyBytes += piece.count
            body.append(contentsOf: piece.prefix(kept - body.count))
            return bodyBytes <= max || refuse(.bodyTooLarge)
        case .secret(let bytes): return bytes.append(piece) || refuse(.bodyTooLarge)
        case .none:
            isBodyLeftOut = true
            return false
        case .stream(let take): return take(.init(status: status(), headers: headers), piece)
        }
    }

    private mutating func refuse(_ refusal: ResponseRefusal) -> Bool {
        self.refusal = refusal
        return false
    }

    /// libcurl ignores a length that it cannot parse and takes the last of several lengths. A
    /// truncated response would then pass as complete.
    private mutating func takeLength(_ value: Substring) -> Bool {
        guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let found = Int(value),
            found == length ?? found
        else { return false }
        length = found
        return true
    }

    private static func trimmed(_ rest: Substring) -> Substring {
        let start = rest.drop(while: \.isWhitespace)
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return start[...end]
    }
}
