/// A value of a YAML document and the line it stands on.
///
/// Scalars stay text: what a text means is decided by the setting that it is for, so that a topic
/// named `no` is not a boolean.
package struct YAMLNode: Equatable, Sendable {
    package indirect enum Content: Equatable, Sendable {
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        case mapping([Entry])
    }

    package struct Entry: Equatable, Sendable {
        package let key: String
        let line: Int
        package let value: YAMLNode
    }

    /// Counted from 1.
    let line: Int
    package let content: Content

    /// Whether nothing is given, as in `topic:` or `topic: null`.
    var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return text.isEmpty || text == "~" || text == "null"
    }

    /// What it is, for a sentence like "wants a size, got a list".
    var kindName: String {
        switch content {
        case .scalar where isNull: "nothing"
        case .scalar: "a plain value"
        case .sequence: "a list"
        case .mapping: "a group of settings"
        }
    }
}

/// Why a text is not a YAML document that we read.
package struct YAMLError: Error, Equatable {
    /// Counted from 1.
    let line: Int
    package let reason: String
}

/// How much of YAML is read. The numbers are far above any honest configuration.
struct YAMLLimits {
    var bytes = 1 << 20
    var depth = 32
    /// Values, those repeated through aliases counted each time.
    var nodes = 20_000
}
