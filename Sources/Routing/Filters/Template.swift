/// Text with places for what a log or its request has, such as `page-{{captured}}`.
package struct Template: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        case text(String)
        case tag
        /// What the last wildcard of the filter's pattern took.
        case captured
        /// Empty where the log has no such field.
        case field(String)
        case clientIP
        case key
        case receipt
    }

    package let text: String
    package let parts: [Part]

    package init(_ text: String) throws(PatternProblem) {
        self.text = text
        parts = try Self.parts(of: text)
    }

    private static func parts(of text: String) throws(PatternProblem) -> [Part] {
        var parts: [Part] = []
        var rest = text.utf8[...]
        var literal = rest.startIndex
        func flush(to end: String.Index) {
            if literal < end { parts.append(.text(String(text[literal..<end]))) }
        }
        while let open = rest.firstIndex(of: UInt8(ascii: "{")) {
            let next = text.utf8.index(after: open)
            guard next < text.utf8.endIndex, text.utf8[next] == UInt8(ascii: "{") else {
                rest = text.utf8[next...]
                continue
            }
            let position = text.utf8.distance(from: text.utf8.startIndex, to: open)
            let start = text.utf8.index(after: next)
            guard let end = text[start...].firstRange(of: "}}") else {
                throw PatternProblem(position: position, reason: "{{ is not closed by }}")
            }
            flush(to: open)
            parts.append(try part(String(text[start..<end.lowerBound]), at: position))
            literal = end.upperBound
            rest = text.utf8[literal...]
        }
        flush(to: text.endIndex)
        return parts
    }

    private static func part(_ name: String, at position: Int) throws(PatternProblem) -> Part {
        switch name {
        case "tag": return .tag
        case "captured": return .captured
        case "client_ip": return .clientIP
        case "key": return .key
        case "receipt": return .receipt
        default:
            guard name.hasPrefix("field:"), name.utf8.count > 6 else {
                throw PatternProblem(
                    position: position,
                    reason: "{{\(name)}} is none of {{tag}}, {{captured}}, {{field:NAME}}, "
                        + "{{client_ip}}, {{key}} and {{receipt}}"
                )
            }
            return .field(String(name.dropFirst(6)))
        }
    }
}
