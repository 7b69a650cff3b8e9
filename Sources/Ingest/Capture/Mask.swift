import Crypto
package import HTTP
import JSON
package import Logs
import System

/// Replaces secrets before anything of a request is kept. Equal values get equal masks, so that
/// they can be compared; the key of the hash lives as long as the process, so a mask tells nothing
/// about the value elsewhere.
package enum Mask {
    private static let key = randomBytes(32)

    package static func redacted(_ value: some Collection<UInt8>) -> String {
        let digest = Digest.hmacSHA256(key: key, Array(value))
        return "[redacted \(value.count) bytes #\(hex(digest.prefix(3)))]"
    }

    /// The headers that become fields or tags of a log.
    private static let logHeaders: Set = ["referer", "user-agent", "x-scope-orgid"]

    /// The fields of a head, in order, with their repetitions. `hidesLogs` masks what becomes part
    /// of a log, too.
    package static func fields(
        _ head: RequestHead,
        hidesLogs: Bool
    ) -> [(name: String, value: String)] {
        head.fields.map { field in
            let name = String(decoding: head.bytes[field.name], as: UTF8.self)
            let value = Array(head.bytes[field.value])
            let isHidden = hidesLogs && logHeaders.contains(name.lowercased())
            return (
                hidingKnownSecrets(in: name), isHidden ? redacted(value) : self.field(name, value)
            )
        }
    }

    /// The value of a header field, if its name is one of those that are shown.
    static func field(_ name: String, _ value: [UInt8]) -> String {
        SecretNames.shows(field: name) || value.isEmpty
            ? String(decoding: hidingSecrets(in: value), as: UTF8.self) : redacted(value)
    }

    /// A path as it was sent. `hidesLogs` masks the id of an Elasticsearch document, which becomes
    /// a field. `isCut`: a limit has cut its end.
    package static func path(_ path: String, hidesLogs: Bool, isCut: Bool = false) -> String {
        for verb in ["/_doc/", "/_create/"] where hidesLogs {
            guard let range = path.firstRange(of: verb) else { continue }
            let id = path[range.upperBound...]
            let beginning = hidingSecrets(in: String(path[..<range.upperBound]))
            return id.isEmpty ? beginning : beginning + redacted(Array(id.utf8))
        }
        return hidingSecrets(in: path, isCut: isCut)
    }

    /// A query as it was sent, but for the values of secrets; `hidesLogs` masks every value.
    /// `isCut`: a limit has cut its end.
    package static func query(
        _ query: some Collection<UInt8>,
        hidesLogs: Bool = false,
        isCut isQueryCut: Bool = false
    ) -> String {
        query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
            let isCut = isQueryCut && pair.endIndex == query.endIndex
            let sides = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let shown = { (side: Int, isHidden: Bool) in
                isHidden ? redacted(sides[side]) : String(decoding: sides[side], as: UTF8.self)
            }
            guard sides.count == 2 else {
                return shown(0, hidesLogs || hasSecret(sides[0], isCut: isCut))
            }
            let hidesName = hasSecret(sides[0])
            let hidesValue =
                hidesLogs || hidesName
                || SecretNames.contains(percentDecodedText(Array(sides[0])[...]) ?? "")
                || hasSecret(sides[1], isCut: isCut)
            return "\(shown(0, hidesName))=\(shown(1, hidesValue))"
        }.joined(separator: "&")
    }

    /// True for a percent-encoded value that holds a secret, in an address of a page or in JSON.
    private static func hasSecret(_ value: some Collection<UInt8>, isCut: Bool = false) -> Bool {
        let bytes = value.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        // Bytes that are not UTF-8 cannot be searched, so they are hidden.
        guard let plain = percentDecodedText(bytes[...]) else { return true }
        return masked(Array(plain.utf8)[...], isCut: isCut) != nil
    }

    package static func hidingSecrets(in text: String, isCut: Bool = false) -> String {
        String(decoding: hidingSecrets(in: Array(text.utf8), isCut: isCut), as: UTF8.self)
    }

    /// Text with the values of secrets replaced: values behind a secret's name, the process's own
    /// secrets, JSON Web Tokens and private keys. `isCut`: a limit has cut its end.
    package static func hidingSecrets(in bytes: [UInt8], isCut: Bool = false) -> [UInt8] {
        masked(bytes[...], isCut: isCut) ?? bytes
    }

    /// Names of members that name a value beside them, as in OTLP's attributes.
    static let labelNames: Set = ["key", "name", "k", "label", "field", "header", "attribute"]
    /// Names that do so only where a value stands beside them: a log may have `{"type":
    /// "session"}`.
    static let weakLabelNames: Set = ["id", "n", "param", "type"]
    static let labelledNames: Set = ["value", "val", "v"]
    /// Strings within strings that are looked into. A deeper one that may have a name is masked as
    /// a whole.
    private static let depthMax = 4

    /// nil: there is no secret.
    static func masked(_ bytes: ArraySlice<UInt8>, depth: Int = 0, isCut: Bool) -> [UInt8]? {
        if depth > depthMax, bytes.contains(where: { ":=\"%".utf8.contains($0) }) {
            return Array(redacted(bytes).utf8)
        }
        // Where the secret lies in the text as it came is not known.
        if let seen = TextMask.withoutUnseen(bytes),
            masked(seen[...], depth: depth, isCut: isCut) != nil
        {
            return Array(redacted(bytes).utf8)
        }
        let named: [UInt8]?
        if let json = JSONMask(bytes, depth: depth, isCut: isCut) {
            named = json.hidesAny ? json.output : nil
        } else {
            named = TextMask.masked(bytes, depth: depth, isCut: isCut)
        }
        let output = named ?? Array(bytes)
        let found = SecretValues.ranges(in: output, isCut: isCut)
        return found.isEmpty ? named : replacing(found, in: output)
    }

    /// `ranges` are in order, without overlaps.
    private static func replacing(_ ranges: [Range<Int>], in bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var copied = 0
        for range in ranges {
            output += bytes[copied..<range.lowerBound]
            output += Array(redacted(bytes[range]).utf8)
            copied = range.upperBound
        }
        return output + bytes[copied...]
    }

    /// A log without the process's secrets, tokens and private keys.
    package static func hidingKnownSecrets(in entry: LogEntry) -> LogEntry {
        LogEntry(
            time: entry.time,
            fields: entry.fields.map {
                (hidingKnownSecrets(in: $0.key), hidingKnownSecrets(in: $0.value))
            }
        )
    }

    /// Text without them. Names are not looked at. `isCut`: a limit has cut its end, or ends of
    /// texts that it quotes.
    package static func hidingKnownSecrets(in text: String, isCut: Bool = false) -> String {
        let bytes = Array(text.utf8)
        let found = SecretValues.ranges(in: bytes, isCut: isCut)
        let isKnown = { !SecretValues.ranges(in: $0, isCut: isCut).isEmpty }
        let forms =
            TextMask.unescapedForms(bytes[...])
            + [TextMask.withoutUnseen(bytes[...])].compactMap(\.self)
        if forms.contains(where: isKnown) { return redacted(bytes) }
        return found.isEmpty ? text : String(decoding: replacing(found, in: bytes), as: UTF8.self)
    }
}

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
