import JSON

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
    var nodes = 100_000
}

extension YAMLNode {
    private static let depthMax = 8

    /// What a JSON object says, as if it stood in the configuration file; on no line of it.
    init(json bytes: [UInt8], depthMax: Int = depthMax) throws(YAMLError) {
        var json = JSONReader(bytes)
        guard let node = Self.read(&json, room: depthMax), json.isAtEnd,
            case .mapping = node.content
        else {
            throw YAMLError(line: 1, reason: "wants a JSON object of settings")
        }
        self = node
    }

    private static func read(_ json: inout JSONReader, room: Int) -> YAMLNode? {
        guard room > 0 else { return nil }
        if json.take("{") { return mapping(&json, room) }
        if json.take("[") { return sequence(&json, room) }
        if json.isAtString { return json.string().map { scalar($0, isPlain: false) } }
        return json.literal().map { scalar($0, isPlain: true) }
    }

    private static func mapping(_ json: inout JSONReader, _ room: Int) -> YAMLNode? {
        var members: [Entry] = []
        guard !json.take("}") else { return node(.mapping(members)) }
        repeat {
            guard let key = json.string(), json.take(":"), let value = read(&json, room: room - 1)
            else { return nil }
            members.append(Entry(key: key, line: decidedLine, value: value))
        } while json.take(",")
        return json.take("}") ? node(.mapping(members)) : nil
    }

    private static func sequence(_ json: inout JSONReader, _ room: Int) -> YAMLNode? {
        var items: [YAMLNode] = []
        guard !json.take("]") else { return node(.sequence(items)) }
        repeat {
            guard let item = read(&json, room: room - 1) else { return nil }
            items.append(item)
        } while json.take(",")
        return json.take("]") ? node(.sequence(items)) : nil
    }

    private static func scalar(_ text: String, isPlain: Bool) -> YAMLNode {
        node(.scalar(text, isPlain: isPlain))
    }

    private static func node(_ content: Content) -> YAMLNode {
        YAMLNode(line: decidedLine, content: content)
    }
}
