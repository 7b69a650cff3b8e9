import HTTP
import Routing
import System

/// What conditions of filters may ask of a request.
package struct AskedRequest: Sendable {
    // Texts are made when a condition asks for them.
    private let method: @Sendable () -> String
    private let path: @Sendable () -> String
    private let query: @Sendable () -> String?
    /// The first header field of a lower-case name.
    private let field: @Sendable (String) -> String?

    init(
        method: @escaping @autoclosure @Sendable () -> String = "POST",
        path: @escaping @autoclosure @Sendable () -> String,
        query: @escaping @autoclosure @Sendable () -> String? = nil,
        field: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        (self.method, self.path, self.query, self.field) = (method, path, query, field)
    }

    init(_ head: RequestHead) {
        self.init(method: head.methodText, path: head.pathText, query: head.queryText) { name in
            let field = head.fields.first {
                head.bytes[$0.name].elementsEqual(name.utf8) { $0 | 0x20 == $1 | 0x20 }
            }
            return field.map { String(decoding: head.bytes[$0.value], as: UTF8.self) }
        }
    }

    /// Reads `POST /logs/x?a=1`, perhaps with lines such as `x-app: shop` behind it. nil: the first
    /// line is another.
    package init?(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard let words = lines.first?.split(separator: " "), words.count == 2,
            words[1].hasPrefix("/")
        else { return nil }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
            return (name: parts[0].lowercased(), value: value)
        }
        self.init(
            method: String(words[0]),
            path: String(target[0]),
            query: target.count > 1 ? String(target[1]) : nil
        ) { name in fields.first { $0.name == name }?.value }
    }

    /// nil: the request does not have it.
    func text(of part: RequestPart) -> [UInt8]? {
        switch part {
        case .query(let name): parameter(name)
        case .header(let name): field(name).map { Array($0.utf8) }
        case .host: field("host").map { Array(Self.hostName($0).utf8) }
        case .method: Array(method().utf8)
        case .path: Array(path().utf8)
        }
    }

    /// Read like a form.
    private func parameter(_ name: String) -> [UInt8]? {
        for pair in (query() ?? "").utf8.split(separator: UInt8(ascii: "&")) {
            let sides = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard formText(sides[0])?.utf8.elementsEqual(name.utf8) == true else { continue }
            // What cannot be decoded exists all the same.
            return sides.count > 1
                ? formText(sides[1]).map { Array($0.utf8) } ?? Array(sides[1]) : []
        }
        return nil
    }

    /// In lower case, without a port and the dot that may end a name.
    static func hostName(_ host: String) -> String {
        var name = host.lowercased()[...]
        if let colon = name.lastIndex(of: ":"), !name[colon...].contains("]") {
            name = name[..<colon]
        }
        return String(name.hasSuffix(".") ? name.dropLast() : name)
    }
}

/// A name or a value of a form: a plus is a space. nil when it cannot be decoded.
func formText(_ part: some Sequence<UInt8>) -> String? {
    percentDecodedText(part.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }[...])
}
