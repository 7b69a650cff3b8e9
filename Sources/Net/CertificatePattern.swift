/// A pattern for names in client certificates, with its kind: "dns:phone-7.example.com". One `*`
/// matches one or more letters, digits, '-' and '_'; it never matches a dot, a slash or an @.
package struct CertificatePattern: Sendable, Hashable {
    package static let kinds = ["dns", "ip", "uri", "mail", "cn"]

    private let start: [UInt8]
    /// The text after the star; nil without a star.
    private let end: [UInt8]?

    /// nil without a kind or name, or with several stars.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), Self.kinds.contains(String(text[..<colon])),
            (1...255).contains(text[colon...].utf8.count - 1)
        else { return nil }
        let parts = comparableName(text).split(
            separator: UInt8(ascii: "*"),
            omittingEmptySubsequences: false
        )
        guard parts.count <= 2 else { return nil }
        start = Array(parts[0])
        end = parts.count == 2 ? Array(parts[1]) : nil
    }

    /// The only name that matches; nil for a pattern with a star.
    package var only: [UInt8]? { end == nil ? start : nil }

    /// `name` must come from `comparableName`.
    package func covers(_ name: [UInt8]) -> Bool {
        guard let end else { return name == start }
        guard name.count > start.count + end.count, name.starts(with: start) else { return false }
        return name.suffix(end.count) == end[...]
            && name[start.count..<(name.count - end.count)].allSatisfy(\.isWordCharacter)
    }
}

/// Normalises a name for comparison. Host names ignore case (RFC 4343), and addresses have one
/// spelling; other names stay as they are.
package func comparableName(_ name: String) -> [UInt8] {
    if name.hasPrefix("dns:") { return Array(name.lowercased().utf8) }
    if name.hasPrefix("ip:"), let address = IPAddress(String(name.dropFirst(3))) {
        return Array("ip:\(address)".utf8)
    }
    return Array(name.utf8)
}

extension UInt8 {
    /// A letter, a digit, '-' or '_'.
    package var isWordCharacter: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
