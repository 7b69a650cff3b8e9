// Scalars as protobuf's JSON has them: numbers may stand in quotes, null is the default.
extension JSONLogWalk {
    mutating func integer<Number: FixedWidthInteger>() throws(JSONFault) -> Number {
        if try takeNull() { return 0 }
        let token = next
        guard let number = Number(decimal: try numberText(else: .integerExpected)) else {
            throw JSONFault(.otlp(.integerExpected), at: Int(tokens[token]))
        }
        return number
    }

    mutating func double() throws(JSONFault) -> Double {
        let token = next
        let digits = try numberText(else: .numberExpected)
        switch digits {
        case "NaN": return .nan
        case "Infinity": return .infinity
        case "-Infinity": return -.infinity
        default: break
        }
        guard Decimal(digits) != nil, let number = Double(String(decoding: digits, as: UTF8.self)),
            number.isFinite
        else { throw JSONFault(.otlp(.numberExpected), at: Int(tokens[token])) }
        return number
    }

    private mutating func numberText(
        else mistake: OTLPMistake
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        guard next + 1 < tokenCount else { throw unfinished }
        switch byte {
        case UInt8(ascii: "\""): return try string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let token = Int(tokens[next])
            let count = try scalarCount(token, before: Int(tokens[next + 1]))
            next += 1
            return UnsafeBufferPointer(start: text + token, count: count)
        default: throw fault(.otlp(mistake))
        }
    }

    mutating func boolean() throws(JSONFault) -> Bool {
        guard next + 1 < tokenCount else { throw unfinished }
        let isTrue = byte == UInt8(ascii: "t")
        guard isTrue || byte == UInt8(ascii: "f") else { throw fault(.otlp(.booleanExpected)) }
        _ = try scalarCount(Int(tokens[next]), before: Int(tokens[next + 1]))
        next += 1
        return isTrue
    }

    mutating func text(to texts: inout OTLPTexts) throws(JSONFault) -> Range<Int> {
        if try takeNull() { return 0..<0 }
        return texts.add(try string())
    }

    /// Two digits for each byte, in either case. An id of zeros is none.
    mutating func id(to texts: inout OTLPTexts) throws(JSONFault) -> Range<Int> {
        if try takeNull() { return 0..<0 }
        let token = next
        let digits = try string()
        guard digits.count % 2 == 0, digits.allSatisfy(\.isHexDigit) else {
            throw JSONFault(.otlp(.hexExpected), at: Int(tokens[token]))
        }
        let start = texts.memory.count
        if digits.contains(where: { $0 != UInt8(ascii: "0") }) {
            // Digits have this bit in any case.
            for digit in digits { texts.memory.append(digit | 0x20) }
        }
        return start..<texts.memory.count
    }

    /// RFC 4648, sections 4 and 5, with or without `=` at the end; written as section 4 has it.
    mutating func base64(to texts: inout OTLPTexts) throws(JSONFault) {
        let token = next
        var digits = try string()[...]
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
            default: throw JSONFault(.otlp(.base64Expected), at: Int(tokens[token]))
            }
        }
        guard isWhole else { throw JSONFault(.otlp(.base64Expected), at: Int(tokens[token])) }
        for _ in 0..<(4 - digits.count % 4) % 4 { texts.memory.append("=") }
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
            UInt8(ascii: "a")...UInt8(ascii: "f"):
            true
        default: false
        }
    }
}

extension FixedWidthInteger {
    /// Nil when it is no whole number, or one that does not fit.
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
