import Crypto
package import HTTP
import JSON
import System

/// Replaces secrets before anything of a request is kept. Equal values get equal masks, so that they can be compared;
/// the key of the hash lives as long as the process, so a mask tells nothing about the value elsewhere.
package struct Mask: Sendable {
    private static let shared = Mask()
    private let key = randomBytes(32)

    package static func text(_ value: some Collection<UInt8>) -> String {
        let digest = Digest.hmacSHA256(key: shared.key, Array(value))
        return "[redacted \(value.count) bytes #\(hex(digest.prefix(3)))]"
    }

    /// The headers that become fields or tags of a log.
    private static let logHeaders: Set = ["referer", "user-agent", "x-scope-orgid"]
    /// The headers with a hash of the body, which may have a secret that is easy to guess.
    private static let digestHeaders: Set = [
        "content-md5", "x-log-content-sha256", "content-digest", "repr-digest", "digest",
    ]

    /// The fields of a head, in order, with their repetitions. `hidesLogs` masks what becomes part of a log, too.
    package static func fields(
        _ head: RequestHead,
        hidesLogs: Bool
    ) -> [(name: String, value: String)] {
        head.fields.map { field in
            let name = String(decoding: head.bytes[field.name], as: UTF8.self)
            let value = Array(head.bytes[field.value])
            let small = name.lowercased()
            let isHidden =
                SecretNames.contains(small) || digestHeaders.contains(small)
                || (hidesLogs && logHeaders.contains(small))
            return (
                name, isHidden ? text(value) : String(decoding: text(in: value), as: UTF8.self)
            )
        }
    }

    /// A path as it was sent. `hidesLogs` masks the id of an Elasticsearch document, which becomes a field.
    package static func path(_ path: String, hidesLogs: Bool) -> String {
        guard hidesLogs else { return text(in: path) }
        for verb in ["/_doc/", "/_create/"] {
            guard let range = path.firstRange(of: verb) else { continue }
            let id = path[range.upperBound...]
            return id.isEmpty ? path : path[..<range.upperBound] + text(Array(id.utf8))
        }
        return text(in: path)
    }

    /// A query as it was sent, but for the values of secrets; `hidesLogs` masks every value.
    package static func query(_ query: some Collection<UInt8>, hidesLogs: Bool = false) -> String {
        query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
            let sides = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let name = String(decoding: sides[0], as: UTF8.self)
            guard sides.count == 2 else { return hidesLogs ? text(sides[0]) : name }
            let plain = percentDecodedText(Array(sides[0])[...]) ?? name
            guard hidesLogs || SecretNames.contains(plain) || hasSecret(sides[1]) else {
                return "\(name)=\(String(decoding: sides[1], as: UTF8.self))"
            }
            return "\(name)=\(text(sides[1]))"
        }.joined(separator: "&")
    }

    /// True for a percent-encoded value that holds a secret, in an address of a page or in JSON.
    private static func hasSecret(_ value: some Collection<UInt8>) -> Bool {
        let bytes = value.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        // What is no text cannot be looked into.
        guard let plain = percentDecodedText(bytes[...]) else { return true }
        let inner = Array(plain.utf8)
        return text(in: inner) != inner
    }

    package static func text(in text: String) -> String {
        String(decoding: self.text(in: Array(text.utf8)), as: UTF8.self)
    }

    /// Text with the values of secrets replaced, whether they are members of JSON, of JSON within its strings, or pairs
    /// such as `token=abc`.
    package static func text(in bytes: [UInt8]) -> [UInt8] {
        var scanner = SecretScanner(bytes, depth: 0)
        return scanner.masked()
    }
}

/// Finds `"name": value` and `name=value` in text, however damaged it is.
private struct SecretScanner {
    /// Strings within strings that are looked into. A deeper one that has quotes is masked as a whole.
    private static let depthMax = 4

    private let bytes: [UInt8]
    private let depth: Int
    private var place = 0
    private var output: [UInt8] = []
    /// Everything before it is in the output.
    private var copied = 0

    init(_ bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        self.depth = depth
    }

    mutating func masked() -> [UInt8] {
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""): maskMember()
            case UInt8(ascii: "="): maskPair()
            default: place += 1
            }
        }
        return copied == 0 ? bytes : output + bytes[copied...]
    }

    /// A string, and the value behind it where it is the name of a secret.
    private mutating func maskMember() {
        let string = string()
        let end = place
        skipSpace()
        guard place < bytes.count, bytes[place] == UInt8(ascii: ":") else {
            place = end
            return maskInside(string)
        }
        place += 1
        skipSpace()
        guard SecretNames.contains(String(decoding: bytes[string], as: UTF8.self)) else { return }
        let value = value()
        replace(value, with: "\"\(Mask.text(bytes[value]))\"")
    }

    /// A string may hold JSON of its own.
    private mutating func maskInside(_ string: Range<Int>) {
        let quoted = Array("\"".utf8) + bytes[string] + Array("\"".utf8)
        guard
            bytes[string].contains(UInt8(ascii: "=")) || bytes[string].contains(UInt8(ascii: "\\"))
        else { return }
        var reader = JSONReader(quoted)
        guard depth < Self.depthMax, let inner = reader.stringBytes() else {
            return replace(string, with: Mask.text(bytes[string]))
        }
        var scanner = SecretScanner(inner, depth: depth + 1)
        let masked = scanner.masked()
        guard masked != inner else { return }
        let text = jsonQuoted(String(decoding: masked, as: UTF8.self))
        replace(string, with: String(text.dropFirst().dropLast()))
    }

    /// `name=value`, up to a character that ends values in forms and lines.
    private mutating func maskPair() {
        var start = place
        while start > copied, Self.isNameByte(bytes[start - 1]) { start -= 1 }
        let name = String(decoding: bytes[start..<place], as: UTF8.self)
        place += 1
        guard !name.isEmpty, SecretNames.contains(name) else { return }
        let first = place
        while place < bytes.count, !Self.endsValue(bytes[place]) { place += 1 }
        guard place > first else { return }
        replace(first..<place, with: Mask.text(bytes[first..<place]))
    }

    private mutating func replace(_ range: Range<Int>, with text: String) {
        output += bytes[copied..<range.lowerBound] + Array(text.utf8)
        copied = range.upperBound
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
            || byte == 0x2d || byte == 0x5f || byte == 0x2e
    }

    private static func endsValue(_ byte: UInt8) -> Bool {
        byte <= 0x20
            || [0x22, 0x26, 0x27, 0x2c, 0x3b, 0x5c, 0x7d, 0x29].contains(byte)
    }

    /// Moves behind the string that begins here, and returns what is between its quotes.
    private mutating func string() -> Range<Int> {
        let start = place + 1
        place = start
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        let end = min(place, bytes.count)
        place = min(place + 1, bytes.count)
        return min(start, end)..<end
    }

    private mutating func skipSpace() {
        while place < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[place]) { place += 1 }
    }

    /// Moves behind the value that begins here: a string, a number or word, or all of an object or array.
    private mutating func value() -> Range<Int> {
        let start = place
        var depth = 0
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                _ = string()
                if depth == 0 { return start..<place }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                place += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return start..<place }
                depth -= 1
                place += 1
                if depth == 0 { return start..<place }
            case UInt8(ascii: ",") where depth == 0, 0x0a where depth == 0:
                return start..<place
            default: place += 1
            }
        }
        return start..<place
    }
}
