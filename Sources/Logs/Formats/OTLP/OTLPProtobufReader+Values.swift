/// The kind of an `AnyValue`, and where its content stands in the bytes.
private enum OTLPValue {
    case empty
    case string(Range<Int>)
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case array(Range<Int>)
    case pairs(Range<Int>)
    case bytes(Range<Int>)

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(ProtobufError) {
        self = .empty
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { return }
            switch field {
            case (1, .bytes(let text)): self = .string(text)
            case (2, .number(let number)): self = .boolean(number != 0)
            case (3, .number(let number)): self = .integer(Int64(bitPattern: number))
            case (4, .fixed64(let bits)): self = .double(Double(bitPattern: bits))
            case (5, .bytes(let values)): self = .array(values)
            case (6, .bytes(let pairs)): self = .pairs(pairs)
            case (7, .bytes(let bytes)): self = .bytes(bytes)
            case (1...7, _): throw fields.wrongType(field.field, of: "AnyValue", at: start)
            default: continue
            }
        }
    }
}

extension OTLPProtobufReader {
    /// The JSON object of the attributes that are one field of a message; nil when there are none.
    mutating func attributes(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        field number: Int,
        of message: StaticString,
        where isIncluded: (TextPair) -> Bool = { _ in true }
    ) throws(ProtobufError) -> Range<Int>? {
        let first = texts.memory.count
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            guard field.field == number else { continue }
            guard case .bytes(let range) = field.value else {
                throw fields.wrongType(number, of: message, at: start)
            }
            let pair = try TextPair(bytes, range, of: "KeyValue")
            guard isIncluded(pair) else { continue }
            texts.memory.append(texts.memory.count == first ? "{" : ",")
            try member(bytes, pair, depth: 1)
        }
        guard texts.memory.count > first else { return nil }
        texts.memory.append("}")
        return first..<texts.memory.count
    }

    /// An `AnyValue` as a field shows it: text as it is, bytes in base64, everything else as JSON.
    mutating func text(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(ProtobufError) -> Range<Int> {
        let start = texts.memory.count
        switch try OTLPValue(bytes, range) {
        case .empty: break
        case .string(let text): texts.memory.append(bytes.text(text))
        case .bytes(let content): texts.memory.append(base64: bytes.text(content))
        case .double(let number): texts.memory.append(number)
        case let value: try json(bytes, value, range, depth: 1)
        }
        return start..<texts.memory.count
    }

    /// Name and value of a JSON object.
    private mutating func member(
        _ bytes: UnsafeRawBufferPointer,
        _ pair: TextPair,
        depth: Int
    ) throws(ProtobufError) {
        texts.memory.append(name: bytes.text(pair.key))
        try json(bytes, OTLPValue(bytes, pair.value), pair.value, depth: depth)
    }

    private mutating func json(
        _ bytes: UnsafeRawBufferPointer,
        _ value: OTLPValue,
        _ range: Range<Int>,
        depth: Int
    ) throws(ProtobufError) {
        let deepest = min(limits.depth, 64)
        guard depth <= deepest else {
            throw ProtobufError(
                position: range.lowerBound,
                reason: "values are nested deeper than \(deepest)"
            )
        }
        switch value {
        case .empty: texts.memory.append("null")
        case .string(let text): texts.memory.append(quoted: bytes.text(text))
        case .boolean(let isTrue): texts.memory.append(isTrue ? "true" : "false")
        case .integer(let number): texts.memory.append(decimal: number)
        case .double(let number): texts.memory.append(json: number)
        case .bytes(let content):
            texts.memory.append("\"")
            texts.memory.append(base64: bytes.text(content))
            texts.memory.append("\"")
        case .array(let values):
            texts.memory.append("[")
            try elements(bytes, values, of: "ArrayValue", depth: depth + 1)
            texts.memory.append("]")
        case .pairs(let pairs):
            texts.memory.append("{")
            try elements(bytes, pairs, of: "KeyValueList", arePairs: true, depth: depth + 1)
            texts.memory.append("}")
        }
    }

    /// The parts of an array or an object, which both are field 1, with commas between them.
    private mutating func elements(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        of message: StaticString,
        arePairs: Bool = false,
        depth: Int
    ) throws(ProtobufError) {
        var isFirst = true
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { return }
            switch field {
            case (1, .bytes(let part)):
                if !isFirst { texts.memory.append(",") }
                isFirst = false
                if arePairs {
                    try member(bytes, TextPair(bytes, part, of: "KeyValue"), depth: depth)
                } else {
                    try json(bytes, OTLPValue(bytes, part), part, depth: depth)
                }
            case (1, _): throw fields.wrongType(1, of: message, at: start)
            default: continue
            }
        }
    }
}
