/// An answer as it came over the wire.
package struct TestAnswer: Sendable {
    package struct Unreadable: Error {
        package let text: String
    }

    package var status: Int
    /// In the order they came, names as they were written.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8] = []

    package subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// Everything that came on a connection with one answer, whatever its framing.
    package init(whole bytes: [UInt8]) throws(Unreadable) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Unreadable(text: String(decoding: bytes, as: UTF8.self))
        }
        try self.init(head: bytes[..<end.lowerBound])
        body = Array(bytes[end.upperBound...])
    }

    /// The status line and the fields, without the empty line.
    init(head: some Collection<UInt8>) throws(Unreadable) {
        let text = String(decoding: head, as: UTF8.self)
        let lines = text.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count > 1, let status = Int(words[1]) else { throw Unreadable(text: text) }
        self.status = status
        fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
            return (String(parts[0]), String(value))
        }
    }
}
