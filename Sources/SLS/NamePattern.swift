/// SLS's rules for names. They are checked before sending, because a wrong name otherwise appears
/// as a host that does not resolve.
package enum NamePattern: Sendable {
    case project, logstore, region

    /// The problem in one sentence with the remedy; nil when the name is valid.
    package func problem(with name: String) -> String? {
        let bytes = name.utf8
        // No function as a value, which would be an object: each request asks.
        var isFine = lengths.contains(bytes.count)
        for byte in bytes where !allows(byte) { isFine = false }
        if let first = bytes.first, let last = bytes.last {
            isFine = isFine && isAlphanumeric(first) && isAlphanumeric(last)
        }
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
