/// What a list of attributes came to.
struct OTLPAttributes {
    /// The JSON object in the memory of the texts; nil when there are no others than these two.
    var object: Range<Int>?
    // Where the values of the two are that have fields of their own.
    var host: Int?
    var service: Int?
}

/// What an attribute is.
private enum OTLPAttribute {
    case member, host, service

    init(_ name: UnsafeBufferPointer<UInt8>, ofResource: Bool) {
        switch name {
        case "host.name" where ofResource: self = .host
        case "service.name" where ofResource: self = .service
        default: self = .member
        }
    }
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
            let separator: StaticString = texts.memory.count == first ? "{" : ","
            try pair(&texts, separator, &found, ofResource: ofResource, depth: 1)
            hasElement = try nextElement()
        }
        guard texts.memory.count > first else { return found }
        texts.memory.append("}")
        found.object = first..<texts.memory.count
        return found
    }

    /// The KeyValue that comes next: name and value of a JSON object, behind a separator. Everybody writes
    /// the key first; a value in front of it is passed, and read afterwards.
    private mutating func pair(
        _ texts: inout OTLPTexts,
        _ separator: StaticString,
        _ found: inout OTLPAttributes,
        ofResource: Bool = false,
        depth: Int
    ) throws(JSONFault) {
        var attribute: OTLPAttribute?
        var hasValue = false
        var passed: Int?
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "key":
                guard attribute == nil else { throw fault(.otlp(.memberRepeated)) }
                let name = try string()
                let kind = OTLPAttribute(name, ofResource: ofResource)
                attribute = kind
                if kind == .member { texts.memory.append(member: name, behind: separator) }
            case "value":
                guard !hasValue else { throw fault(.otlp(.memberRepeated)) }
                hasValue = true
                if let attribute {
                    try value(of: attribute, &texts, &found, depth: depth)
                } else {
                    passed = try pass()
                }
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        if attribute == nil { texts.memory.append(member: none, behind: separator) }
        if let passed {
            let end = next
            next = passed
            try value(of: attribute ?? .member, &texts, &found, depth: depth)
            next = end
        } else if !hasValue, attribute ?? .member == .member {
            texts.memory.append("null")
        }
    }

    private mutating func value(
        of attribute: OTLPAttribute,
        _ texts: inout OTLPTexts,
        _ found: inout OTLPAttributes,
        depth: Int
    ) throws(JSONFault) {
        switch attribute {
        case .member: try otlpValue(&texts, asText: false, depth: depth)
        case .host: found.host = try pass()
        case .service: found.service = try pass()
        }
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
        var none = OTLPAttributes()
        var hasElement = try enterArray()
        while hasElement {
            if arePairs {
                try pair(&texts, "", &none, depth: depth)
            } else {
                try otlpValue(&texts, asText: false, depth: depth)
            }
            hasElement = try nextElement()
            if hasElement { texts.memory.append(",") }
        }
    }
}

extension TextMemory {
    fileprivate mutating func append(
        member name: UnsafeBufferPointer<UInt8>,
        behind separator: StaticString
    ) {
        append(separator)
        append(quoted: name)
        append(":")
    }
}

/// The members of an AnyValue, of which it has one.
private enum OTLPKind {
    case string, boolean, integer, double, array, pairs, bytes

    init?(_ name: UnsafeBufferPointer<UInt8>) {
        switch name {
        case "stringValue", "string_value": self = .string
        case "boolValue", "bool_value": self = .boolean
        case "intValue", "int_value": self = .integer
        case "doubleValue", "double_value": self = .double
        case "arrayValue", "array_value": self = .array
        case "kvlistValue", "kvlist_value": self = .pairs
        case "bytesValue", "bytes_value": self = .bytes
        default: return nil
        }
    }
}
