// Scalars as protobuf's JSON has them: numbers may stand in quotes, null is the default.
extension OTLPJSONReader {
    func integer<Number: FixedWidthInteger>(
        _ json: inout JSONLogReader
    ) throws(JSONFault) -> Number {
        if try json.cursor.takeNull() { return 0 }
        let position = json.cursor.position
        guard let number = Number(decimal: try numberText(&json, else: .integerExpected)) else {
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
        guard digits.count % 2 == 0, digits.allSatisfy(\.isHexDigit) else {
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
