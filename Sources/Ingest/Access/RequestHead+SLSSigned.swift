import HTTP
import SLS
import System

// The texts that SLS's SDKs sign, rebuilt from the request. The limits of a head bound their size.

extension RequestHead {
    /// Version 1: the digest of the body, some headers, and the decoded query; nil when the query
    /// cannot be decoded.
    func textToSignV1(date: Range<Int>) -> [UInt8]? {
        guard let pairs = decodedQuery else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        text.append(line: methodName)
        text.append(line: bytes[fieldRange("content-md5") ?? 0..<0])
        text.append(line: bytes[fieldRange("content-type") ?? 0..<0])
        text.append(line: bytes[date])
        let fields = signedFields { name in
            name != Array("x-log-date".utf8) && (name.begins("x-log-") || name.begins("x-acs-"))
        }
        for (name, value) in fields { text.append(name, UInt8(ascii: ":"), bytes[value]) }
        text += bytes[path]
        for (index, pair) in pairs.enumerated() {
            text.append(UInt8(ascii: index == 0 ? "?" : "&"))
            text += pair.name
            text.append(UInt8(ascii: "="))
            text += pair.value
        }
        return text
    }

    /// Version 4: method, path, query, headers and the digest of the body; nil when the query
    /// cannot be decoded.
    func canonicalV4(bodyDigest: ArraySlice<UInt8>) -> [UInt8]? {
        guard let pairs = decodedQuery else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        text.append(line: methodName)
        text.append(line: bytes[path])
        for (index, pair) in pairs.enumerated() {
            if index > 0 { text.append(UInt8(ascii: "&")) }
            // Names are not encoded, and an empty value has no `=`.
            text += pair.name
            guard !pair.value.isEmpty else { continue }
            text.append(UInt8(ascii: "="))
            text += percentEncoded(pair.value)
        }
        text.append(UInt8(ascii: "\n"))
        let fields = signedFields { name in
            name == Array("content-type".utf8) || name == Array("host".utf8)
                || name.begins("x-log-") && !name.begins("x-log-meta-") || name.begins("x-acs-")
        }
        for (name, value) in fields { text.append(name, UInt8(ascii: ":"), bytes[value]) }
        text.append(UInt8(ascii: "\n"))
        text += fields.map(\.name).joined(separator: [UInt8(ascii: ";")])
        text.append(UInt8(ascii: "\n"))
        return text + bodyDigest
    }

    /// As it came, also for methods that `RequestHead.Method` does not know.
    var methodName: ArraySlice<UInt8> { bytes.prefix { $0 != UInt8(ascii: " ") } }

    /// Sorted by their names, which are in lower case.
    private func signedFields(
        _ isSigned: ([UInt8]) -> Bool
    ) -> [(name: [UInt8], value: Range<Int>)] {
        var signed: [(name: [UInt8], value: Range<Int>)] = []
        for field in fields {
            let name = bytes[field.name].map {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0
            }
            if isSigned(name) { signed.append((name, field.value)) }
        }
        return signed.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    /// The decoded pairs, sorted by name; nil when they cannot be decoded.
    private var decodedQuery: [(name: [UInt8], value: [UInt8])]? {
        guard let query else { return [] }
        var pairs: [(name: [UInt8], value: [UInt8])] = []
        for piece in bytes[query].split(separator: UInt8(ascii: "&")) {
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            // Libraries write a space as `%20` or as a plus; a plus itself is always `%2B`.
            guard let name = percentDecoded(piece[..<equals], isForm: true),
                let value = percentDecoded(piece[equals...].dropFirst(), isForm: true)
            else { return nil }
            pairs.append((name, value))
        }
        return pairs.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }
}

extension [UInt8] {
    fileprivate func begins(_ start: StaticString) -> Bool {
        start.withUTF8Buffer { starts(with: $0) }
    }

    fileprivate mutating func append(line: ArraySlice<UInt8>) {
        self += line
        append(UInt8(ascii: "\n"))
    }

    fileprivate mutating func append(_ name: [UInt8], _ mark: UInt8, _ value: ArraySlice<UInt8>) {
        self += name
        append(mark)
        append(line: value)
    }
}
