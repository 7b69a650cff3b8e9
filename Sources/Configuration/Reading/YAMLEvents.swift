import CYAML

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
