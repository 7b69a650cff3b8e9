/// What SLS allows in a name. Checked before anything is sent, because a wrong name otherwise shows
/// as a host that does not resolve.
package enum NamePattern: Sendable {
    case project, logstore, region

    /// One sentence with the remedy, or nil when the name is fine.
    package func problem(with name: String) -> String? {
        let bytes = Array(name.utf8)
        let isFine =
            lengths.contains(bytes.count) && bytes.allSatisfy(allows)
            && isAlphanumeric(bytes[0]) && isAlphanumeric(bytes[bytes.count - 1])
        return isFine ? nil : "the \(kind) name '\(name)' is not valid: use \(rule)"
    }

    private var kind: String {
        switch self {
        case .project: "project"
        case .logstore: "logstore"
        case .region: "region"
        }
    }

    private var rule: String {
        let ends = "beginning and ending with a letter or digit"
        return switch self {
        case .project: "3 to 63 lower-case letters, digits and '-', \(ends)"
        case .logstore: "2 to 63 lower-case letters, digits, '-' and '_', \(ends)"
        case .region: "lower-case letters, digits and '-', as in cn-hangzhou"
        }
    }

    private var lengths: ClosedRange<Int> {
        switch self {
        case .project: 3...63
        case .logstore: 2...63
        case .region: 2...63
        }
    }

    private func allows(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "-")
            || self == .logstore && byte == UInt8(ascii: "_")
    }

    private func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
