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
