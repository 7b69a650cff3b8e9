import CYAML
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

    /// True for a key without a value: `topic:`, `topic: ~` or `topic: null`.
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

/// Builds the tree of one YAML document from libyaml's events, within limits.
struct YAMLDocument: ~Copyable {
    // libyaml keeps pointers into its own struct, so that it must not move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>
    private let limits: YAMLLimits
    /// With the number of values in each.
    private var anchors: [String: (node: YAMLNode, size: Int)] = [:]
    private var nodes = 0

    /// The document's root; nil when the text holds nothing but comments.
    static func read(
        _ bytes: [UInt8],
        limits: YAMLLimits = YAMLLimits()
    ) throws(YAMLError) -> YAMLNode? {
        guard bytes.count <= limits.bytes else {
            throw YAMLError(line: 1, reason: "larger than \(limits.bytes) bytes")
        }
        guard let invalid = firstInvalidUTF8(in: bytes) else {
            var document = YAMLDocument(bytes, limits)
            return try document.root()
        }
        let line = bytes[..<invalid].count { $0 == UInt8(ascii: "\n") } + 1
        throw YAMLError(line: line, reason: "not valid UTF-8")
    }

    private init(_ bytes: [UInt8], _ limits: YAMLLimits) {
        self.limits = limits
        parser = .allocate(capacity: 1)
        text = .allocate(capacity: bytes.count)
        _ = text.initialize(from: bytes)
        // Fails for lack of memory only.
        precondition(yaml_parser_initialize(parser) == 1, "no memory for a YAML parser")
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        text.deallocate()
    }

    private mutating func root() throws(YAMLError) -> YAMLNode? {
        guard try skip() == YAML_DOCUMENT_START_EVENT else { return nil }
        let root = try node(depth: 1)
        try skip()
        guard try skip() == YAML_STREAM_END_EVENT else {
            throw YAMLError(line: line, reason: "a second document; one file is one document")
        }
        return root
    }

    // MARK: - Events

    /// The next event; the caller deletes it.
    private mutating func next() throws(YAMLError) -> yaml_event_t {
        var event = yaml_event_t()
        repeat {
            guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
        } while event.type == YAML_STREAM_START_EVENT
        line = Int(event.start_mark.line) + 1
        return event
    }

    @discardableResult
    private mutating func skip() throws(YAMLError) -> yaml_event_type_t {
        var event = try next()
        defer { yaml_event_delete(&event) }
        return event.type
    }

    /// The line of the last event.
    private var line = 1

    // MARK: - Nodes

    /// The next node; nil at the end of a list or a group.
    private mutating func node(depth: Int) throws(YAMLError) -> YAMLNode? {
        var event = try next()
        defer { yaml_event_delete(&event) }
        let line = line
        if [YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT].contains(event.type) { return nil }
        guard depth <= limits.depth else {
            throw YAMLError(line: line, reason: "nested deeper than \(limits.depth) levels")
        }
        try count(1, line)
        let before = nodes
        let content: YAMLNode.Content
        let anchor: String?
        switch event.type {
        case YAML_ALIAS_EVENT:
            let name = string(event.data.alias.anchor) ?? ""
            guard let target = anchors[name] else {
                throw YAMLError(line: line, reason: "nothing is anchored as &\(name) before this")
            }
            try count(target.size - 1, line)
            return target.node
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            try refuseUnknown(scalar.tag, line)
            anchor = string(scalar.anchor)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            content = .scalar(text(scalar.value, scalar.length), isPlain: isPlain)
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            try refuseUnknown(start.tag, line)
            anchor = string(start.anchor)
            var items: [YAMLNode] = []
            while let item = try node(depth: depth + 1) { items.append(item) }
            content = .sequence(items)
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            try refuseUnknown(start.tag, line)
            anchor = string(start.anchor)
            content = .mapping(try entries(depth: depth + 1))
        // After the end libyaml answers with empty events for ever.
        default: throw YAMLError(line: line, reason: "not valid YAML: a value is missing")
        }
        let node = YAMLNode(line: line, content: content)
        if let anchor { anchors[anchor] = (node, nodes - before + 1) }
        return node
    }

    private mutating func entries(depth: Int) throws(YAMLError) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        while true {
            var event = try next()
            defer { yaml_event_delete(&event) }
            let line = line
            if event.type == YAML_MAPPING_END_EVENT { return entries }
            guard event.type == YAML_SCALAR_EVENT else {
                throw YAMLError(line: line, reason: "a key must be a plain text")
            }
            let scalar = event.data.scalar
            let key = text(scalar.value, scalar.length)
            guard let value = try node(depth: depth) else {
                throw YAMLError(line: line, reason: "not valid YAML: a value is missing")
            }
            entries.append(.init(key: key, line: line, value: value))
        }
    }

    private mutating func count(_ more: Int, _ line: Int) throws(YAMLError) {
        nodes += more
        guard nodes <= limits.nodes else {
            throw YAMLError(line: line, reason: "more than \(limits.nodes) values")
        }
    }

    /// YAML's own tags change nothing here; others would ask for what we do not do.
    private func refuseUnknown(
        _ tag: UnsafeMutablePointer<yaml_char_t>?,
        _ line: Int
    ) throws(YAMLError) {
        guard let tag = string(tag), tag != "!", !tag.hasPrefix("tag:yaml.org,2002:") else {
            return
        }
        throw YAMLError(line: line, reason: "the YAML tag \(tag) is not supported")
    }

    private func string(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        pointer.map { String(cString: $0) }
    }

    private func text(_ start: UnsafeMutablePointer<yaml_char_t>?, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    // MARK: - Errors

    private var failure: YAMLError {
        let state = parser.pointee
        var reason = state.problem.map { String(cString: $0) } ?? "unreadable"
        if let context = state.context {
            reason += " \(String(cString: context))"
            let begun = Int(state.context_mark.line) + 1
            if begun != Int(state.problem_mark.line) + 1 { reason += " begun on line \(begun)" }
        }
        let line = Int(state.problem_mark.line)
        if lineHasReference(line) {
            // There a brace begins a group of settings.
            reason += "; inside { } and [ ] a ${...} wants quotes: \"${NAME}\""
        }
        return YAMLError(line: line + 1, reason: "not valid YAML: \(reason)")
    }

    private func lineHasReference(_ number: Int) -> Bool {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return number < lines.count && lines[number].contains("${".utf8)
    }
}

/// Where the first byte stands that is not part of well-formed UTF-8.
private func firstInvalidUTF8(in bytes: [UInt8]) -> Int? {
    var position = 0
    var decoder = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    while true {
        switch decoder.parseScalar(from: &iterator) {
        case .valid(let scalar): position += scalar.count
        case .emptyInput: return nil
        case .error: return position
        }
    }
}
