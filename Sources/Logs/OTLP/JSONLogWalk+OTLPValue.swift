/// What a list of attributes came to.
struct OTLPAttributes {
    /// The JSON object in the memory of the texts; nil when there are no others than these two.
    var object: Range<Int>?
    // Where the values of the two are that have fields of their own.
    var host: Int?
    var service: Int?
}

/// Key and value of a KeyValue, as tokens.
private struct OTLPPair {
    var key: Int?
    var value: Int?
}

extension JSONLogWalk {
    mutating func attributes(
        _ texts: inout OTLPTexts,
        ofResource: Bool = false
    ) throws(JSONFault) -> OTLPAttributes {
        var found = OTLPAttributes()
        let first = texts.memory.count
        var hasElement = try enterArray()
        while hasElement {
            let pair = try pair()
            let end = next
            switch try key(of: pair) {
            case "host.name" where ofResource: found.host = pair.value
            case "service.name" where ofResource: found.service = pair.value
            case let name:
                texts.memory.append(texts.memory.count == first ? "{" : ",")
                try member(name, pair, &texts, depth: 1)
            }
            next = end
            hasElement = try nextElement()
        }
        guard texts.memory.count > first else { return found }
        texts.memory.append("}")
        found.object = first..<texts.memory.count
        return found
    }

    /// The element that comes next.
    private mutating func pair() throws(JSONFault) -> OTLPPair {
        var pair = OTLPPair()
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "key":
                guard pair.key == nil else { throw fault(.otlp(.memberRepeated)) }
                pair.key = try pass()
            case "value":
                guard pair.value == nil else { throw fault(.otlp(.memberRepeated)) }
                pair.value = try pass()
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        return pair
    }

    private mutating func key(of pair: OTLPPair) throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        guard let key = pair.key else { return UnsafeBufferPointer(start: nil, count: 0) }
        next = key
        return try string()
    }

    /// Name and value of a JSON object.
    private mutating func member(
        _ name: UnsafeBufferPointer<UInt8>,
        _ pair: OTLPPair,
        _ texts: inout OTLPTexts,
        depth: Int
    ) throws(JSONFault) {
        texts.memory.append(quoted: name)
        texts.memory.append(":")
        guard let value = pair.value else { return texts.memory.append("null") }
        next = value
        try otlpValue(&texts, asText: false, depth: depth)
    }

    /// The AnyValue that comes next as a field shows it: text as it is, bytes in base64, everything else as
    /// JSON.
    mutating func otlpText(_ texts: inout OTLPTexts) throws(JSONFault) -> Range<Int> {
        let start = texts.memory.count
        try otlpValue(&texts, asText: true, depth: 1)
        return start..<texts.memory.count
    }

    private mutating func otlpValue(
        _ texts: inout OTLPTexts,
        asText: Bool,
        depth: Int
    ) throws(JSONFault) {
        let deepest = min(limits.depth, OTLPWalk.deepest)
        guard depth <= deepest else { throw fault(.tooDeep(deepest)) }
        var isKnown = false
        if try !takeNull() {
            var hasMember = try enterObject()
            while hasMember {
                if let kind = OTLPKind(try memberName()) {
                    if try !takeNull() {
                        guard !isKnown else { throw fault(.otlp(.kindRepeated)) }
                        isKnown = true
                        try content(kind, &texts, asText: asText, depth: depth)
                    }
                } else {
                    try skipValue()
                }
                hasMember = try nextMember()
            }
        }
        if !isKnown, !asText { texts.memory.append("null") }
    }

    private mutating func content(
        _ kind: OTLPKind,
        _ texts: inout OTLPTexts,
        asText: Bool,
        depth: Int
    ) throws(JSONFault) {
        switch kind {
        case .string where asText: texts.memory.append(try string())
        case .string: texts.memory.append(quoted: try string())
        case .boolean: texts.memory.append(try boolean() ? "true" : "false")
        case .integer: texts.memory.append(decimal: try integer() as Int64)
        case .double where asText: texts.memory.append(try double())
        case .double: texts.memory.append(json: try double())
        case .bytes where asText: try base64(to: &texts)
        case .bytes:
            texts.memory.append("\"")
            try base64(to: &texts)
            texts.memory.append("\"")
        case .array:
            texts.memory.append("[")
            try values(&texts, arePairs: false, depth: depth + 1)
            texts.memory.append("]")
        case .pairs:
            texts.memory.append("{")
            try values(&texts, arePairs: true, depth: depth + 1)
            texts.memory.append("}")
        }
    }

    /// The list in the object that comes next, which protobuf cannot do without.
    private mutating func values(
        _ texts: inout OTLPTexts,
        arePairs: Bool,
        depth: Int
    ) throws(JSONFault) {
        var hasValues = false
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "values":
                guard !hasValues else { throw fault(.otlp(.memberRepeated)) }
                hasValues = true
                try elements(&texts, arePairs: arePairs, depth: depth)
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
    }

    private mutating func elements(
        _ texts: inout OTLPTexts,
        arePairs: Bool,
        depth: Int
    ) throws(JSONFault) {
        var hasElement = try enterArray()
        while hasElement {
            if arePairs {
                let pair = try pair()
                let end = next
                try member(key(of: pair), pair, &texts, depth: depth)
                next = end
            } else {
                try otlpValue(&texts, asText: false, depth: depth)
            }
            hasElement = try nextElement()
            if hasElement { texts.memory.append(",") }
        }
    }
}

/// The members of an AnyValue, of which it has one.
private enum OTLPKind {
    case string, boolean, integer, double, array, pairs, bytes

    init?(_ name: UnsafeBufferPointer<UInt8>) {
        switch name {
        case "stringValue": self = .string
        case "boolValue": self = .boolean
        case "intValue": self = .integer
        case "doubleValue": self = .double
        case "arrayValue": self = .array
        case "kvlistValue": self = .pairs
        case "bytesValue": self = .bytes
        default: return nil
        }
    }
}
