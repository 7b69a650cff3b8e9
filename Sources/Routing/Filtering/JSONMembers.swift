import System

/// Reads the members of one JSON object, or the elements of one array (RFC 8259), strictly, without
/// allocating.
struct JSONMembers {
    struct Text {
        var range: Range<Int>
        /// Strings with escapes are not yet what they mean.
        var hasEscapes = false
    }

    /// Objects and arrays inside each other, the outermost included.
    private static let depthMax = 64

    private let text: UnsafeBufferPointer<UInt8>
    private let isArray: Bool
    private var place = 0
    private var isFirst = true
    /// True when another member must follow.
    private var hasComma = false

    /// Enters the object, or the array.
    init?(_ text: UnsafeBufferPointer<UInt8>, isArray: Bool = false) {
        (self.text, self.isArray) = (text, isArray)
        guard take(isArray ? "[" : "{") else { return nil }
    }

    enum Next {
        /// An element has no name.
        case member(name: Text, value: Text)
        /// The object or array is closed, and nothing follows.
        case end
        case broken
    }

    mutating func next() -> Next {
        if take(isArray ? "]" : "}") {
            skipSpace()
            return hasComma || place < text.count ? .broken : .end
        }
        guard isFirst || hasComma else { return .broken }
        var name = Text(range: place..<place)
        if !isArray {
            guard let found = string(), take(":") else { return .broken }
            name = found
        }
        guard let value = value() else { return .broken }
        isFirst = false
        hasComma = take(",")
        return .member(name: name, value: value)
    }

    /// A null is empty. Objects and arrays are text.
    private mutating func value() -> Text? {
        skipSpace()
        guard place < text.count else { return nil }
        switch text[place] {
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let start = place
            return skipNested() ? Text(range: start..<place) : nil
        default:
            let start = place
            guard skipScalar() else { return nil }
            let isNull = text[start] == UInt8(ascii: "n")
            return Text(range: isNull ? place..<place : start..<place)
        }
    }

    private mutating func string() -> Text? {
        guard take("\"") else { return nil }
        let start = place
        var hasEscapes = false
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "\""):
                place += 1
                return Text(range: start..<place - 1, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                guard skipEscape() else { return nil }
            case ..<0x20: return nil
            default: place += 1
            }
        }
        return nil
    }

    private mutating func skipEscape() -> Bool {
        guard place + 1 < text.count else { return false }
        switch text[place + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            place += 2
            return true
        case UInt8(ascii: "u"):
            guard Self.unit(text, place) != nil else { return false }
            place += 6
            return true
        default: return false
        }
    }

    /// A number or a literal.
    private mutating func skipScalar() -> Bool {
        for literal: StaticString in ["true", "false", "null"] where isAt(literal) {
            place += literal.utf8CodeUnitCount
            return true
        }
        return skipNumber()
    }

    private mutating func skipNumber() -> Bool {
        if isByte("-") { place += 1 }
        if isByte("0") {
            place += 1
        } else {
            guard skipDigits() else { return false }
        }
        if isByte(".") {
            place += 1
            guard skipDigits() else { return false }
        }
        if isByte("e") || isByte("E") {
            place += 1
            if isByte("-") || isByte("+") { place += 1 }
            guard skipDigits() else { return false }
        }
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = place
        while place < text.count, 0x30...0x39 ~= text[place] { place += 1 }
        return place > start
    }

    /// Passes an object or an array. `kinds` has a bit for each open one, which is set for an
    /// object.
    private mutating func skipNested() -> Bool {
        var kinds: UInt64 = 0
        var depth = 0
        repeat {
            skipSpace()
            guard place < text.count else { return false }
            let opening = text[place]
            if opening == UInt8(ascii: "{") || opening == UInt8(ascii: "[") {
                guard depth < Self.depthMax - 1 else { return false }
                place += 1
                depth += 1
                let isObject = opening == UInt8(ascii: "{")
                kinds = kinds << 1 | (isObject ? 1 : 0)
                if !take(isObject ? "}" : "]") {
                    guard !isObject || skipName() else { return false }
                    continue
                }
                depth -= 1
                kinds >>= 1
            } else if opening == UInt8(ascii: "\"") {
                guard string() != nil else { return false }
            } else {
                guard skipScalar() else { return false }
            }
            // Behind a value: its container goes on or ends.
            while depth > 0 {
                let isObject = kinds & 1 == 1
                if take(",") {
                    guard !isObject || skipName() else { return false }
                    break
                }
                guard take(isObject ? "}" : "]") else { return false }
                depth -= 1
                kinds >>= 1
            }
        } while depth > 0
        return true
    }

    private mutating func skipName() -> Bool {
        string() != nil && take(":")
    }

    private mutating func skipSpace() {
        while place < text.count {
            switch text[place] {
            case 0x20, 0x09, 0x0A, 0x0D: place += 1
            default: return
            }
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard isByte(character) else { return false }
        place += 1
        return true
    }

    private func isByte(_ character: Unicode.Scalar) -> Bool {
        place < text.count && text[place] == UInt8(truncatingIfNeeded: character.value)
    }

    private func isAt(_ literal: StaticString) -> Bool {
        guard place + literal.utf8CodeUnitCount <= text.count else { return false }
        return (0..<literal.utf8CodeUnitCount).allSatisfy {
            text[place + $0] == literal.utf8Start[$0]
        }
    }

    /// The code unit of the `\uXXXX` that starts here.
    fileprivate static func unit(_ text: UnsafeBufferPointer<UInt8>, _ place: Int) -> UInt32? {
        guard place + 6 <= text.count, text[place] == UInt8(ascii: "\\"),
            text[place + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt32 = 0
        for digit in text[(place + 2)..<(place + 6)] {
            guard let value = hexValue(digit) else { return nil }
            unit = unit << 4 | UInt32(value)
        }
        return unit
    }
}

/// What a string that `JSONMembers` found means. It is never longer than its escaped form.
struct JSONString {
    private let text: UnsafeBufferPointer<UInt8>
    private var place: Int
    private let end: Int

    init(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        self.text = text
        (place, end) = (range.lowerBound, range.upperBound)
    }

    /// Gives the bytes one after the other.
    mutating func write(to draft: LogDraft) throws(StepFailure) {
        while place < end {
            guard text[place] == UInt8(ascii: "\\") else {
                try draft.write(text[place])
                place += 1
                continue
            }
            let escape = text[place + 1]
            guard escape == UInt8(ascii: "u") else {
                try draft.write(Self.meaning(escape))
                place += 2
                continue
            }
            try Self.write(scalar(), to: draft)
        }
    }

    private static func meaning(_ escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: escape
        }
    }

    /// One `\uXXXX`, or two that are a surrogate pair. Half of a pair is U+FFFD, as decoders have
    /// it.
    private mutating func scalar() -> UInt32 {
        let first = JSONMembers.unit(text, place) ?? 0xFFFD
        place += 6
        guard 0xD800...0xDFFF ~= first else { return first }
        guard first < 0xDC00, place + 6 <= end, let second = JSONMembers.unit(text, place),
            0xDC00...0xDFFF ~= second
        else { return 0xFFFD }
        place += 6
        return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
    }

    private static func write(_ scalar: UInt32, to draft: LogDraft) throws(StepFailure) {
        func tail(_ shift: UInt32) -> UInt8 { UInt8(0x80 | (scalar >> shift) & 0x3F) }
        switch scalar {
        case ..<0x80: try draft.write(UInt8(scalar))
        case ..<0x800:
            try draft.write(UInt8(0xC0 | scalar >> 6))
            try draft.write(tail(0))
        case ..<0x10000:
            try draft.write(UInt8(0xE0 | scalar >> 12))
            try draft.write(tail(6))
            try draft.write(tail(0))
        default:
            try draft.write(UInt8(0xF0 | scalar >> 18))
            try draft.write(tail(12))
            try draft.write(tail(6))
            try draft.write(tail(0))
        }
    }
}
