import Glibc

/// A condition whose names are numbers and whose texts are bytes.
indirect enum CompiledCondition {
    case field(Int, Test)
    /// The number that the router gives it.
    case tag(Int)
    /// A number of `FilterProgram.parts`.
    case request(Int, Test)
    case all([CompiledCondition])
    case any([CompiledCondition])
    case not(CompiledCondition)

    enum Test {
        case exists(Bool)
        case isOneOf(TextIndex)
        case isLike([NameGlob])
        case matches(TextPattern)
        case atLeast(Double)
        case atMost(Double)
    }

    func holds(_ draft: LogDraft, _ tag: TagState) -> Bool {
        switch self {
        case .field(let number, let test):
            let value = draft.value(of: number)
            guard draft.spend(draft.fieldCount + test.work(value?.count ?? 0)) else { return false }
            guard let value else {
                if case .exists(false) = test { return true }
                return false
            }
            return test.holds(draft.bytes(value))
        case .tag(let number): return draft.spend(16) && tag.plan.holds(number)
        case .request(let number, let test): return test.holds(part: number, draft)
        case .all(let conditions): return conditions.allSatisfy { $0.holds(draft, tag) }
        case .any(let conditions): return conditions.contains { $0.holds(draft, tag) }
        case .not(let condition): return !condition.holds(draft, tag)
        }
    }

    /// Nil: the fields of a log decide.
    func holds(_ tag: TagState, _ draft: LogDraft) -> Bool? {
        switch self {
        case .field: return nil
        case .tag(let number): return tag.plan.holds(number)
        case .request(let number, let test): return test.holds(part: number, draft)
        case .not(let condition): return condition.holds(tag, draft).map { !$0 }
        case .all(let conditions):
            let all = conditions.map { $0.holds(tag, draft) }
            return all.contains(false) ? false : all.contains(nil) ? nil : true
        case .any(let conditions):
            let all = conditions.map { $0.holds(tag, draft) }
            return all.contains(true) ? true : all.contains(nil) ? nil : false
        }
    }
}

extension CompiledCondition.Test {
    func holds(part number: Int, _ draft: LogDraft) -> Bool {
        let part = draft.requestParts[number]
        guard draft.spend(work(part?.count ?? 0)) else { return false }
        guard let part else {
            if case .exists(false) = self { return true }
            return false
        }
        return part.withUnsafeBufferPointer { holds($0) }
    }

    @inline(__always)
    fileprivate func holds(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        switch self {
        case .exists(let wanted): wanted
        case .isLike(let globs): globs.contains { $0.matches(value) }
        case .isOneOf(let texts):
            value.baseAddress.map { texts.number($0, value.count) != TextIndex.none } ?? false
        case .matches(let pattern): pattern.isMatch(value)
        case .atLeast(let bound): number(value).map { $0 >= bound } ?? false
        case .atMost(let bound): number(value).map { $0 <= bound } ?? false
        }
    }

    /// A decimal number with an optional sign, fraction and exponent, and nothing else. One of more
    /// than 64 bytes counts as none.
    private func number(_ value: UnsafeBufferPointer<UInt8>) -> Double? {
        guard !value.isEmpty, value.count <= 64, isDecimal(value) else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: value.count + 1) { text in
            for (place, byte) in value.enumerated() {
                text[place] = CChar(truncatingIfNeeded: byte)
            }
            text[value.count] = 0
            return text.baseAddress.map { strtod($0, nil) }
        }
    }

    private func isDecimal(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var place = 0
        func digits() -> Int {
            let start = place
            while place < text.count, 0x30...0x39 ~= text[place] { place += 1 }
            return place - start
        }
        func take(_ either: UInt8, _ or: UInt8) -> Bool {
            guard place < text.count, text[place] == either || text[place] == or else {
                return false
            }
            place += 1
            return true
        }
        _ = take(UInt8(ascii: "-"), UInt8(ascii: "+"))
        var count = digits()
        if take(UInt8(ascii: "."), UInt8(ascii: ".")) { count += digits() }
        guard count > 0 else { return false }
        if take(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "-"), UInt8(ascii: "+"))
            guard digits() > 0 else { return false }
        }
        return place == text.count
    }
}

/// The names of fields that a step is for, ready to be compared.
struct FieldSelector {
    /// A bit for each number of a name.
    private var words: [UInt64] = []
    private var globs: [NameGlob] = []

    /// `number` gives the number of a name.
    init(_ patterns: [FieldPattern], _ number: (String) -> Int) {
        for pattern in patterns {
            guard !pattern.text.utf8.contains(UInt8(ascii: "*")) else {
                globs.append(NameGlob(pattern.text))
                continue
            }
            let number = number(pattern.text)
            while words.count <= number >> 6 { words.append(0) }
            words[number >> 6] |= 1 << UInt64(number & 63)
        }
    }

    @inline(__always)
    func selects(_ field: DraftField, in draft: LogDraft) -> Bool {
        guard !field.isRemoved else { return false }
        if field.number >= 0, field.number >> 6 < words.count,
            words[field.number >> 6] & (1 << UInt64(field.number & 63)) != 0
        {
            return true
        }
        guard !globs.isEmpty else { return false }
        let name = draft.bytes(field.name)
        return globs.contains { $0.matches(name) }
    }

    /// Units of `TrialWork` for all fields.
    func work(_ draft: LogDraft) -> Int {
        let fields = draft.fieldCount
        guard !globs.isEmpty else { return 4 * fields }
        let names = (0..<fields).reduce(0) { $0 + draft.field($1).name.count }
        return globs.reduce(4 * fields) { $0 + $1.work(names) + 16 * fields }
    }
}

/// A name with `*` for any text.
package struct NameGlob: Sendable {
    /// The texts between the asterisks; the first and the last one are the name's beginning and
    /// end.
    private let pieces: [[UInt8]]

    package init(_ text: String) {
        pieces = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
            .map { Array($0) }
    }

    /// The leftmost place of each piece is enough, so the cost is bounded by the two lengths.
    package func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let (first, last) = (pieces[0], pieces[pieces.count - 1])
        guard pieces.count > 1 else { return name.count == first.count && isAt(0, first, name) }
        guard name.count >= first.count + last.count, isAt(0, first, name),
            isAt(name.count - last.count, last, name)
        else { return false }
        var place = first.count
        let end = name.count - last.count
        for piece in pieces.dropFirst().dropLast() {
            while place + piece.count <= end, !isAt(place, piece, name) { place += 1 }
            guard place + piece.count <= end else { return false }
            place += piece.count
        }
        return true
    }

    /// Units of `TrialWork`: each byte of the name may start a comparison with the piece that is
    /// searched.
    func work(_ bytes: Int) -> Int { 16 + bytes * (8 + pieces.reduce(0) { $0 + $1.count } / 16) }

    private func isAt(_ place: Int, _ piece: [UInt8], _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !piece.isEmpty, let start = name.baseAddress else { return true }
        return memcmp(start + place, piece, piece.count) == 0
    }
}
