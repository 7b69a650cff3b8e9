/// What is kept of a response while it arrives. A server may send what it likes: memory is bounded, and
/// so is patience.
struct ReceivedAnswer {
    static let bodyBytesKept = 16 << 10
    static let bodyBytesMax = 256 << 10
    static let headBytesMax = 64 << 10
    static let valueBytesMax = 256
    static let namesKept: Set<String> = [
        "x-log-requestid", "x-log-time", "date", "retry-after",
    ]

    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8] = []

    private var headBytes = 0
    private var bodyBytes = 0

    /// Takes one header line, the status line included, and tells whether to go on.
    mutating func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.headBytesMax else { return false }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // An answer that follows a 100 Continue starts over.
            headers = []
        } else if let colon = text.firstIndex(of: ":") {
            keep(text[..<colon].lowercased(), text[text.index(after: colon)...])
        }
        return true
    }

    /// Takes a piece of the body, and tells whether to go on.
    mutating func receive(body piece: UnsafeRawBufferPointer) -> Bool {
        bodyBytes += piece.count
        body.append(contentsOf: piece.prefix(Self.bodyBytesKept - body.count))
        return bodyBytes <= Self.bodyBytesMax
    }

    private mutating func keep(_ name: String, _ rest: Substring) {
        guard Self.namesKept.contains(name), rest.utf8.count <= Self.valueBytesMax else { return }
        let start = rest.drop(while: \.isWhitespace)
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return }
        headers.append((name, String(start[...end])))
    }
}
