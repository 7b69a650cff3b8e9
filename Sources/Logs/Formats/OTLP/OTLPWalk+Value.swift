/// What an `AnyValue` is; what it holds stands in the bytes.
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

extension OTLPWalk {
    /// Values inside each other.
    static let deepest = 64

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
    mutating func member(
        _ bytes: UnsafeRawBufferPointer,
        _ pair: TextPair,
        depth: Int
    ) throws(ProtobufError) {
        texts.memory.append(quoted: bytes.text(pair.key))
        texts.memory.append(":")
        try json(bytes, OTLPValue(bytes, pair.value), pair.value, depth: depth)
    }

    private mutating func json(
        _ bytes: UnsafeRawBufferPointer,
        _ value: OTLPValue,
        _ range: Range<Int>,
        depth: Int
    ) throws(ProtobufError) {
        guard depth <= min(limits.depth, Self.deepest) else {
            throw ProtobufError(
                position: range.lowerBound,
                reason: "values are nested deeper than \(min(limits.depth, Self.deepest))"
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
        case .array(let values): try array(bytes, values, depth: depth)
        case .pairs(let pairs): try object(bytes, pairs, depth: depth)
        }
    }

    private mutating func array(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        depth: Int
    ) throws(ProtobufError) {
        texts.memory.append("[")
        var isFirst = true
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .bytes(let value)):
                if !isFirst { texts.memory.append(",") }
                isFirst = false
                try json(bytes, OTLPValue(bytes, value), value, depth: depth + 1)
            case (1, _): throw fields.wrongType(1, of: "ArrayValue", at: start)
            default: continue
            }
        }
        texts.memory.append("]")
    }

    private mutating func object(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        depth: Int
    ) throws(ProtobufError) {
        texts.memory.append("{")
        var isFirst = true
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .bytes(let range)):
                if !isFirst { texts.memory.append(",") }
                isFirst = false
                try member(bytes, TextPair(bytes, range, of: "KeyValue"), depth: depth + 1)
            case (1, _): throw fields.wrongType(1, of: "KeyValueList", at: start)
            default: continue
            }
        }
        texts.memory.append("}")
    }
}
