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
            for (place, byte) in value.enumerated() { text[place] = CChar(bitPattern: byte) }
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

extension FilterCompiler {
    mutating func condition(_ condition: Condition) -> CompiledCondition {
        switch condition {
        case .field(let name, let test): .field(number(name), compiled(test))
        case .tag(let patterns): tagged(patterns)
        case .request(let part, let test): .request(number(part), compiled(test))
        case .all(let conditions): .all(conditions.map { self.condition($0) })
        case .any(let conditions): .any(conditions.map { self.condition($0) })
        case .not(let inner): .not(self.condition(inner))
        }
    }

    private mutating func tagged(_ patterns: [TagPattern]) -> CompiledCondition {
        addTagWork(patterns)
        // A router knows all conditions of its rules.
        return router.condition(patterns).map { .tag($0) } ?? .any([])
    }

    private func compiled(_ test: FieldTest) -> CompiledCondition.Test {
        switch test {
        case .exists(let wanted): .exists(wanted)
        case .isLike(let texts): .isLike(texts.map { NameGlob($0) })
        case .isOneOf(let texts): .isOneOf(TextIndex(texts.map { Array($0.utf8) }))
        case .matches(let pattern): .matches(pattern)
        case .atLeast(let bound): .atLeast(bound)
        case .atMost(let bound): .atMost(bound)
        }
    }
}
