import System

struct OTLPAttributes {
    /// The JSON object in the memory of the texts; nil when there are no others than these two.
    var object: Range<Int>?
    // The tokens of the two values that have fields of their own.
    var host: Int?
    var service: Int?
}

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

extension OTLPJSONReader {
    mutating func attributes(
        _ json: inout JSONLogReader,
        ofResource: Bool = false
    ) throws(JSONFault) -> OTLPAttributes {
        var found = OTLPAttributes()
        let first = texts.memory.count
        var hasElement = try json.cursor.enterArray()
        while hasElement {
            let separator: StaticString = texts.memory.count == first ? "{" : ","
            try pair(&json, separator, &found, ofResource: ofResource, depth: 1)
            hasElement = try json.cursor.nextElement()
        }
        guard texts.memory.count > first else { return found }
        texts.memory.append("}")
        found.object = first..<texts.memory.count
        return found
    }

    /// The next KeyValue: name and value of a JSON object, behind a separator. All known exporters
    /// write the key first; a value in front of it is passed, and read afterwards.
    private mutating func pair(
        _ json: inout JSONLogReader,
        _ separator: StaticString,
        _ found: inout OTLPAttributes,
        ofResource: Bool = false,
        depth: Int
    ) throws(JSONFault) {
        var attribute: OTLPAttribute?
        var hasValue = false
        var passed: Int?
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "key":
                guard attribute == nil else { throw json.cursor.fault(.memberRepeated) }
                let name = try json.string()
                let kind = OTLPAttribute(name, ofResource: ofResource)
                attribute = kind
                if kind == .member { append(separator, name) }
            case "value":
                guard !hasValue else { throw json.cursor.fault(.memberRepeated) }
                hasValue = true
                if let attribute {
                    try value(&json, of: attribute, &found, depth: depth)
                } else {
                    passed = try pass(&json)
                }
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        if attribute == nil { append(separator, none) }
        if let passed {
            let end = json.cursor.next
            json.cursor.move(to: passed)
            try value(&json, of: attribute ?? .member, &found, depth: depth)
            json.cursor.move(to: end)
        } else if !hasValue, attribute ?? .member == .member {
            texts.memory.append("null")
        }
    }

    private mutating func append(
        _ separator: StaticString,
        _ name: UnsafeBufferPointer<UInt8>
    ) {
        texts.memory.append(separator)
        texts.memory.append(name: name)
    }

    private mutating func value(
        _ json: inout JSONLogReader,
        of attribute: OTLPAttribute,
        _ found: inout OTLPAttributes,
        depth: Int
    ) throws(JSONFault) {
        switch attribute {
        case .member: try value(&json, asText: false, depth: depth)
        case .host: found.host = try pass(&json)
        case .service: found.service = try pass(&json)
        }
    }

    /// The next AnyValue as a field shows it: text as it is, bytes in base64, all else as JSON.
    mutating func text(
        ofValue json: inout JSONLogReader
    ) throws(JSONFault) -> Range<Int> {
        let start = texts.memory.count
        try value(&json, asText: true, depth: 1)
        return start..<texts.memory.count
    }

    private mutating func value(
        _ json: inout JSONLogReader,
        asText: Bool,
        depth: Int
    ) throws(JSONFault) {
        let deepest = json.cursor.depthMax
        guard depth <= deepest else { throw json.cursor.fault(.tooDeep(deepest)) }
        var isKnown = false
        if try !json.cursor.takeNull() {
            var hasMember = try json.cursor.enterObject()
            while hasMember {
                if let kind = OTLPKind(try json.memberName()) {
                    if try !json.cursor.takeNull() {
                        guard !isKnown else {
                            throw OTLPMistake.kindRepeated.at(json.cursor.position)
                        }
                        isKnown = true
                        try content(&json, kind, asText: asText, depth: depth)
                    }
                } else {
                    try json.skipValue()
                }
                hasMember = try json.cursor.nextMember()
            }
        }
        if !isKnown, !asText { texts.memory.append("null") }
    }

    private mutating func content(
        _ json: inout JSONLogReader,
        _ kind: OTLPKind,
        asText: Bool,
        depth: Int
    ) throws(JSONFault) {
        switch kind {
        case .string where asText: texts.memory.append(try json.string())
        case .string: texts.memory.append(quoted: try json.string())
        case .boolean: texts.memory.append(try boolean(&json) ? "true" : "false")
        case .integer: texts.memory.append(decimal: try integer(&json) as Int64)
        case .double where asText: texts.memory.append(try double(&json))
        case .double: texts.memory.append(json: try double(&json))
        case .bytes where asText: try base64(&json)
        case .bytes:
            texts.memory.append("\"")
            try base64(&json)
            texts.memory.append("\"")
        case .array:
            texts.memory.append("[")
            try values(&json, arePairs: false, depth: depth + 1)
            texts.memory.append("]")
        case .pairs:
            texts.memory.append("{")
            try values(&json, arePairs: true, depth: depth + 1)
            texts.memory.append("}")
        }
    }

    /// The list in the next object. Protobuf needs an object around a list.
    private mutating func values(
        _ json: inout JSONLogReader,
        arePairs: Bool,
        depth: Int
    ) throws(JSONFault) {
        var hasValues = false
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "values":
                guard !hasValues else { throw json.cursor.fault(.memberRepeated) }
                hasValues = true
                try elements(&json, arePairs: arePairs, depth: depth)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
    }

    private mutating func elements(
        _ json: inout JSONLogReader,
        arePairs: Bool,
        depth: Int
    ) throws(JSONFault) {
        var none = OTLPAttributes()
        var hasElement = try json.cursor.enterArray()
        while hasElement {
            if arePairs {
                try pair(&json, "", &none, depth: depth)
            } else {
                try value(&json, asText: false, depth: depth)
            }
            hasElement = try json.cursor.nextElement()
            if hasElement { texts.memory.append(",") }
        }
    }
}

/// The members of an AnyValue, which has one of them.
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

// Scalars as protobuf's JSON has them: numbers may stand in quotes, null is the default.
extension OTLPJSONReader {
    func integer<Number: FixedWidthInteger>(
        _ json: inout JSONLogReader
    ) throws(JSONFault) -> Number {
        if try json.cursor.takeNull() { return 0 }
        let position = json.cursor.position
        let text = try numberText(&json, else: .integerExpected)
        if let number = Number(decimal: text) { return number }
        // Also `2.0` and `1e3`.
        guard let whole = Decimal(text)?.wholeNumber, let number = Number(exactly: whole) else {
            throw OTLPMistake.integerExpected.at(position)
        }
        return number
    }

    func double(_ json: inout JSONLogReader) throws(JSONFault) -> Double {
        let position = json.cursor.position
        let digits = try numberText(&json, else: .numberExpected)
        switch digits {
        case "NaN": return .nan
        case "Infinity": return .infinity
        case "-Infinity": return -.infinity
        default: break
        }
        guard Decimal(digits) != nil, let number = Double(String(decoding: digits, as: UTF8.self)),
            number.isFinite
        else { throw OTLPMistake.numberExpected.at(position) }
        return number
    }

    private func numberText(
        _ json: inout JSONLogReader,
        else mistake: OTLPMistake
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        try json.cursor.expectToken(ahead: 1)
        switch json.cursor.byte {
        case UInt8(ascii: "\""): return try json.string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try json.cursor.scalar()
        default: throw mistake.at(json.cursor.position)
        }
    }

    func boolean(_ json: inout JSONLogReader) throws(JSONFault) -> Bool {
        try json.cursor.expectToken(ahead: 1)
        let isTrue = json.cursor.byte == UInt8(ascii: "t")
        guard isTrue || json.cursor.byte == UInt8(ascii: "f") else {
            throw OTLPMistake.booleanExpected.at(json.cursor.position)
        }
        _ = try json.cursor.scalar()
        return isTrue
    }

    mutating func text(_ json: inout JSONLogReader) throws(JSONFault) -> Range<Int> {
        if try json.cursor.takeNull() { return 0..<0 }
        return texts.add(try json.string())
    }

    /// Two digits for each byte, in either case. An id of zeros is none.
    mutating func id(_ json: inout JSONLogReader) throws(JSONFault) -> Range<Int> {
        if try json.cursor.takeNull() { return 0..<0 }
        let position = json.cursor.position
        let digits = try json.string()
        guard digits.count % 2 == 0, digits.allSatisfy({ hexValue($0) != nil }) else {
            throw OTLPMistake.hexExpected.at(position)
        }
        let start = texts.memory.count
        if digits.contains(where: { $0 != UInt8(ascii: "0") }) {
            // Digits have this bit in any case.
            for digit in digits { texts.memory.append(digit | 0x20) }
        }
        return start..<texts.memory.count
    }

    /// RFC 4648, sections 4 and 5, with or without `=` at the end; written as section 4 has it.
    mutating func base64(_ json: inout JSONLogReader) throws(JSONFault) {
        let position = json.cursor.position
        var digits = try json.string()[...]
        if digits.count % 4 == 0 {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        let isWhole = digits.count % 4 != 1
        for digit in digits {
            switch digit {
            case UInt8(ascii: "-"): texts.memory.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): texts.memory.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
                texts.memory.append(digit)
            default: throw OTLPMistake.base64Expected.at(position)
            }
        }
        guard isWhole else { throw OTLPMistake.base64Expected.at(position) }
        for _ in 0..<(4 - digits.count % 4) % 4 { texts.memory.append("=") }
    }
}

extension FixedWidthInteger {
    /// Nil when the text is no whole number, or one that does not fit.
    fileprivate init?(decimal text: UnsafeBufferPointer<UInt8>) {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty else { return nil }
        self = 0
        for byte in digits {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let product = multipliedReportingOverflow(by: 10)
            let sum =
                isNegative
                ? product.partialValue.subtractingReportingOverflow(Self(digit))
                : product.partialValue.addingReportingOverflow(Self(digit))
            guard !product.overflow, !sum.overflow else { return nil }
            self = sum.partialValue
        }
    }
}
