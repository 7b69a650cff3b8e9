extension TagPattern {
    /// Why the pattern does not match although it almost does. Nil: it matches, or it is about
    /// other tags.
    func nearMiss(_ tag: String) -> String? {
        guard match(tag) == nil else { return nil }
        let globs = alternatives.compactMap { if case .glob(let glob) = $0 { glob } else { nil } }
        if globs.contains(where: { $0.lowercased.matches(tag.utf8.map(lowercase)) }) {
            return "`\(text)` differs in upper and lower case only"
        }
        return globs.lazy.compactMap { $0.nearMiss(tag) }.first
    }
}

extension TagGlob {
    fileprivate var lowercased: TagGlob {
        TagGlob(
            items: items.map { if case .byte(let byte) = $0 { .byte(lowercase(byte)) } else { $0 } }
        )
    }

    fileprivate func matches(_ bytes: some Collection<UInt8>) -> Bool {
        Array(bytes).withUnsafeBufferPointer { match($0) != nil }
    }

    fileprivate func nearMiss(_ tag: String) -> String? {
        let wanted = terms
        let given = tag.split(separator: ".", omittingEmptySubsequences: false)
        let openTerm = wanted.firstIndex {
            $0.items.contains { $0 == .terms || $0 == .leadingTerms }
        }
        let agreeing = zip(wanted.prefix(openTerm ?? wanted.count), given)
            .prefix { term, part in term.matches(part.utf8) }.count
        let isNear = agreeing > 0 && wanted[0].items.contains { !$0.isWildcard }
        let closed = openTerm ?? wanted.count
        if openTerm == nil, wanted.count != given.count {
            let isOneOff = abs(wanted.count - given.count) == 1
            let agreesAsFar = agreeing == min(wanted.count, given.count)
            guard isNear || (isOneOff && agreesAsFar) else { return nil }
            return wrongCount(given.count, begins: agreeing >= wanted.count - 1)
        }
        guard isNear else { return nil }
        if agreeing < closed {
            guard agreeing < given.count else {
                return "`\(self)` wants at least \(counted(closed)); the tag has \(given.count)"
            }
            return "`\(self)` wants `\(wanted[agreeing])` as term \(agreeing + 1);"
                + " the tag has `\(given[agreeing])`"
        }
        guard let last = wanted.last, !last.items.contains(where: \.isWildcard) else {
            return "`\(self)` does not match what follows `\(wanted[0])`"
        }
        return "`\(self)` wants `\(last)` at the end; the tag ends with `\(given[given.count - 1])`"
    }

    private func wrongCount(_ given: Int, begins: Bool) -> String {
        let count = terms.count
        guard count > 1, begins, terms[count - 1].items == [.inTerm] else {
            return "`\(self)` wants \(counted(count)); the tag has \(given)"
        }
        let prefix = TagGlob(items: Array(items.dropLast()))
        let more = given - count + 1
        return "`\(self)` wants exactly one term after `\(prefix)`; the tag has \(word(more))"
    }

    /// The parts between dots. A dot that belongs to a wildcard separates too.
    private var terms: [TagGlob] {
        items.split(omittingEmptySubsequences: false) { $0 == .boundary || $0 == .byte(Self.dot) }
            .map { TagGlob(items: Array($0)) }
    }

    private func counted(_ count: Int) -> String { count == 1 ? "one term" : "\(count) terms" }

    private func word(_ count: Int) -> String {
        switch count {
        case 0: "none"
        case 1: "one"
        case 2: "two"
        case 3: "three"
        default: "\(count)"
        }
    }
}

extension TagGlob: CustomStringConvertible {
    /// The pattern without escapes.
    var description: String {
        let bytes = items.flatMap { item -> [UInt8] in
            switch item {
            case .byte(let byte): [byte]
            case .inTerm: Array("*".utf8)
            case .terms, .leadingTerms: Array("**".utf8)
            case .boundary: [Self.dot]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

private func lowercase(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
}
