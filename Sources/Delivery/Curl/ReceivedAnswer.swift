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
    /// Why no more of it is taken.
    private(set) var refusal: String?

    private var headBytes = 0
    private var bodyBytes = 0
    private var length: Int?

    /// Takes one header line, the status line included, and tells whether to go on.
    mutating func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.headBytesMax else { return refuse("its head is too large") }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // An answer that follows a 100 Continue starts over.
            headers = []
            length = nil
            return true
        }
        guard let colon = text.firstIndex(of: ":") else { return true }
        let name = Self.trimmed(text[..<colon]).lowercased()
        let value = Self.trimmed(text[text.index(after: colon)...])
        if name == "content-length", !takeLength(value) {
            return refuse("its length cannot be told")
        }
        keep(name, value)
        return true
    }

    /// Takes a piece of the body, and tells whether to go on.
    mutating func receive(body piece: UnsafeRawBufferPointer) -> Bool {
        bodyBytes += piece.count
        body.append(contentsOf: piece.prefix(Self.bodyBytesKept - body.count))
        return bodyBytes <= Self.bodyBytesMax || refuse("its body is too large")
    }

    private mutating func refuse(_ why: String) -> Bool {
        refusal = why
        return false
    }

    private mutating func keep(_ name: String, _ value: Substring) {
        guard Self.namesKept.contains(name), !value.isEmpty, value.utf8.count <= Self.valueBytesMax
        else { return }
        headers.append((name, String(value)))
    }

    /// libcurl takes a length that it cannot count for none, and of several the last: an answer without its body would
    /// pass for a whole one.
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
