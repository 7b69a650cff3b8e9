import JSON
import System

/// Replaces secrets in a whole JSON document, where names and values are known for certain.
struct JSONMask {
    private let depth: Int
    private let isCut: Bool
    private(set) var hidesAny = false
    private(set) var output: [UInt8] = []

    /// nil for text that is no object or array. `depth` is the number of strings around it.
    /// `isCut`: its strings may end where a limit has cut them.
    init?(_ bytes: ArraySlice<UInt8>, depth: Int, isCut: Bool = false) {
        let first = bytes.first { $0 > 0x20 }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
        let document = Array(bytes)
        var reader = JSONReader(document)
        guard reader.value() != nil, reader.isAtEnd else { return nil }
        (self.depth, self.isCut) = (depth, isCut)
        output = masked(document)
        // As it was sent.
        if !hidesAny { output = document }
    }

    private mutating func masked(_ value: [UInt8]) -> [UInt8] {
        var reader = JSONReader(value)
        if reader.take("{") { return object(&reader) }
        if reader.take("[") { return array(&reader) }
        guard reader.isAtString, let text = reader.stringBytes() else { return value }
        guard let inner = Mask.masked(text[...], depth: depth + 1, isCut: isCut) else {
            return quoted(text)
        }
        hidesAny = true
        return quoted(inner)
    }

    private mutating func object(_ reader: inout JSONReader) -> [UInt8] {
        var members: [(name: String, value: [UInt8])] = []
        while !reader.take("}") {
            if !members.isEmpty { _ = reader.take(",") }
            let name = reader.string() ?? ""
            _ = reader.take(":")
            members.append((name, Array(reader.value() ?? [])))
        }
        // `{"key": "password", "value": …}`
        let isAttribute = members.contains { Mask.labelledNames.contains($0.name.lowercased()) }
        let isLabel = { (name: String) in
            Mask.labelNames.contains(name.lowercased())
                || isAttribute && Mask.weakLabelNames.contains(name.lowercased())
        }
        let secretNames = members.filter { isLabel($0.name) }.compactMap { text(of: $0.value) }
            .filter { SecretNames.contains($0) }
        let parts = members.map { name, value in
            let names: [String] =
                isLabel(name) ? (isAttribute ? [] : [name]) : secretNames + [name]
            let isHidden = names.contains { isSecret($0, value) }
            let shownName = Mask.hidingKnownSecrets(in: name, isCut: isCut)
            hidesAny = hidesAny || shownName != name
            return quoted(Array(shownName.utf8)) + [UInt8(ascii: ":")]
                + (isHidden ? hidden(value) : masked(value))
        }
        return Array("{".utf8) + parts.joined(separator: [UInt8(ascii: ",")]) + Array("}".utf8)
    }

    /// The name of a secret in a list may have its value behind it, as in arguments of a program
    /// and in Node's `rawHeaders`.
    private mutating func array(_ reader: inout JSONReader) -> [UInt8] {
        var elements: [[UInt8]] = []
        while !reader.take("]") {
            if !elements.isEmpty { _ = reader.take(",") }
            elements.append(Array(reader.value() ?? []))
        }
        var name: String?
        let parts = elements.map { element in
            if let secret = name, isSecret(secret, element) {
                name = nil
                return hidden(element)
            }
            name = text(of: element)
            return masked(element)
        }
        return Array("[".utf8) + parts.joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8)
    }

    private mutating func hidden(_ value: [UInt8]) -> [UInt8] {
        hidesAny = true
        return quoted(Array(Mask.redacted(content(value)).utf8))
    }

    private func isSecret(_ name: String, _ value: [UInt8]) -> Bool {
        SecretNames.contains(name) && SecretNames.contains(name, value: content(value))
    }

    private func content(_ value: [UInt8]) -> [UInt8] {
        text(of: value).map { Array($0.utf8) } ?? value
    }

    /// nil: it is no string.
    private func text(of value: [UInt8]) -> String? {
        var reader = JSONReader(value)
        return reader.isAtString ? reader.string() : nil
    }

    private func quoted(_ text: [UInt8]) -> [UInt8] {
        Array(jsonQuoted(String(decoding: text, as: UTF8.self)).utf8)
    }
}
