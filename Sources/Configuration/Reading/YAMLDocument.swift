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

/// Builds the tree of one YAML document from libyaml's events, within limits.
struct YAMLDocument: ~Copyable {
    private struct Anchored {
        let node: YAMLNode
        let size: Int
    }

    private var events: YAMLEvents
    private let limits: YAMLLimits
    private var anchors: [String: Anchored] = [:]
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
            var document = YAMLDocument(events: try YAMLEvents(bytes), limits: limits)
            return try document.root()
        }
        let line = bytes[..<invalid].count { $0 == UInt8(ascii: "\n") } + 1
        throw YAMLError(line: line, reason: "not valid UTF-8")
    }

    private init(events: consuming YAMLEvents, limits: YAMLLimits) {
        self.events = events
        self.limits = limits
    }

    private mutating func root() throws(YAMLError) -> YAMLNode? {
        guard case .documentStart = try events.next().event else { return nil }
        let first = try events.next()
        let root = try node(from: first.event, line: first.line, depth: 1)
        _ = try events.next()
        let after = try events.next()
        guard case .streamEnd = after.event else {
            throw YAMLError(line: after.line, reason: "a second document; one file is one document")
        }
        return root
    }

    private mutating func node(
        from event: YAMLEvents.Event,
        line: Int,
        depth: Int
    ) throws(YAMLError) -> YAMLNode {
        guard depth <= limits.depth else {
            throw YAMLError(line: line, reason: "nested deeper than \(limits.depth) levels")
        }
        try count(1, line: line)
        let before = nodes
        let node: YAMLNode
        switch event {
        case .alias(let name):
            guard let target = anchors[name] else {
                throw YAMLError(line: line, reason: "nothing is anchored as &\(name) before this")
            }
            try count(target.size - 1, line: line)
            return target.node
        case .scalar(let text, let isPlain, let anchor, let tag):
            try refuseUnknown(tag, line: line)
            node = YAMLNode(line: line, content: .scalar(text, isPlain: isPlain))
            keep(node, as: anchor, size: 1)
        case .sequenceStart(let anchor, let tag):
            try refuseUnknown(tag, line: line)
            node = YAMLNode(line: line, content: .sequence(try items(depth: depth)))
            keep(node, as: anchor, size: nodes - before + 1)
        case .mappingStart(let anchor, let tag):
            try refuseUnknown(tag, line: line)
            node = YAMLNode(line: line, content: .mapping(try entries(depth: depth)))
            keep(node, as: anchor, size: nodes - before + 1)
        case .sequenceEnd, .mappingEnd, .documentStart, .documentEnd, .streamEnd:
            throw YAMLError(line: line, reason: "not valid YAML: a value is missing")
        }
        return node
    }

    private mutating func items(depth: Int) throws(YAMLError) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            let (event, line) = try events.next()
            if case .sequenceEnd = event { return items }
            items.append(try node(from: event, line: line, depth: depth + 1))
        }
    }

    private mutating func entries(depth: Int) throws(YAMLError) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        while true {
            let (event, line) = try events.next()
            if case .mappingEnd = event { return entries }
            guard case .scalar(let key, _, _, _) = event else {
                throw YAMLError(line: line, reason: "a key must be a plain text")
            }
            let (value, valueLine) = try events.next()
            entries.append(
                .init(
                    key: key,
                    line: line,
                    value: try node(from: value, line: valueLine, depth: depth + 1)
                )
            )
        }
    }

    private mutating func count(_ more: Int, line: Int) throws(YAMLError) {
        nodes += more
        guard nodes <= limits.nodes else {
            throw YAMLError(line: line, reason: "more than \(limits.nodes) values")
        }
    }

    private mutating func keep(_ node: YAMLNode, as anchor: String?, size: Int) {
        if let anchor { anchors[anchor] = Anchored(node: node, size: size) }
    }

    /// YAML's own tags change nothing here; others would ask for what we do not do.
    private func refuseUnknown(_ tag: String?, line: Int) throws(YAMLError) {
        guard let tag, tag != "!", !tag.hasPrefix("tag:yaml.org,2002:") else { return }
        throw YAMLError(line: line, reason: "the YAML tag \(tag) is not supported")
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

/// libyaml's parser as a sequence of events in Swift values.
struct YAMLEvents: ~Copyable {
    enum Event {
        case scalar(String, isPlain: Bool, anchor: String?, tag: String?)
        case alias(String)
        case sequenceStart(anchor: String?, tag: String?)
        case sequenceEnd
        case mappingStart(anchor: String?, tag: String?)
        case mappingEnd
        case documentStart, documentEnd
        case streamEnd
    }

    // libyaml keeps pointers into its own struct, so that it must not move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: [UInt8]) throws(YAMLError) {
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

    /// The next event and its line.
    mutating func next() throws(YAMLError) -> (event: Event, line: Int) {
        while true {
            var raw = yaml_event_t()
            guard yaml_parser_parse(parser, &raw) == 1 else { throw failure }
            defer { yaml_event_delete(&raw) }
            let line = Int(raw.start_mark.line) + 1
            guard let event = Self.event(from: raw) else { continue }
            return (event, line)
        }
    }

    private static func event(from raw: yaml_event_t) -> Event? {
        switch raw.type {
        case YAML_SCALAR_EVENT:
            let scalar = raw.data.scalar
            return .scalar(
                String(
                    decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length),
                    as: UTF8.self
                ),
                isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE,
                anchor: text(scalar.anchor),
                tag: text(scalar.tag)
            )
        case YAML_ALIAS_EVENT: return .alias(text(raw.data.alias.anchor) ?? "")
        case YAML_SEQUENCE_START_EVENT:
            let start = raw.data.sequence_start
            return .sequenceStart(anchor: text(start.anchor), tag: text(start.tag))
        case YAML_MAPPING_START_EVENT:
            let start = raw.data.mapping_start
            return .mappingStart(anchor: text(start.anchor), tag: text(start.tag))
        case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
        case YAML_MAPPING_END_EVENT: return .mappingEnd
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        // After the end libyaml answers with empty events for ever.
        case YAML_STREAM_END_EVENT, YAML_NO_EVENT: return .streamEnd
        default: return nil
        }
    }

    private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        pointer.map { String(cString: $0) }
    }

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
