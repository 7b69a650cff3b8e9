import Logs
import Queue
import System

/// Writes dead letters in pieces that are cut inside long values, so that an answer of any length
/// holds one piece.
final class LetterPieces: Sendable {
    enum Part {
        /// Text as it is.
        case written(Substring)
        /// The content of a JSON string.
        case content(Substring)
        /// Members of an object that has one already.
        case fields(ArraySlice<(key: String, value: String)>)
        /// A JSON line.
        case letter(DeadLetter, LetterName)
    }

    /// The text that is escaped at a time. A control character becomes six bytes.
    private static let bytesMax = 64 << 10

    /// The next one is the last.
    private let parts: Locked<[Part]>

    init(_ parts: [Part]) {
        self.parts = Locked(parts.reversed())
    }

    /// nil: all is written.
    func next() -> [UInt8]? {
        parts.withLock { parts in
            var piece: [UInt8] = []
            while piece.count < Self.bytesMax, let part = parts.popLast() {
                switch part {
                case .written(let text):
                    let (beginning, rest) = Self.cut(text)
                    piece += beginning.utf8
                    if !rest.isEmpty { parts.append(.written(rest)) }
                case .content(let text):
                    let (beginning, rest) = Self.cut(text)
                    var escaped = beginning
                    escaped.withUTF8 { appendJSONEscaped(UnsafeRawBufferPointer($0), to: &piece) }
                    if !rest.isEmpty { parts.append(.content(rest)) }
                case .fields(let fields):
                    guard let (key, value) = fields.first else { continue }
                    parts += [
                        .fields(fields.dropFirst()), .written("\""), .content(value[...]),
                        .written("\":\""), .content(key[...]), .written(",\""),
                    ]
                case .letter(let letter, let name):
                    parts.append(.written("\n"))
                    parts += DeadLetterDocument.document(letter, name, nil).reversed()
                }
            }
            return piece.isEmpty ? nil : piece
        }
    }

    /// Everything at once; nil where that is longer.
    func all(atMost bytesMax: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while let piece = next() {
            bytes += piece
            guard bytes.count <= bytesMax else { return nil }
        }
        return bytes
    }

    private static func cut(_ text: Substring) -> (Substring, Substring) {
        guard text.utf8.count > bytesMax else { return (text, "") }
        var end = text.utf8.index(text.startIndex, offsetBy: bytesMax)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return (text[..<end], text[end...])
    }
}
