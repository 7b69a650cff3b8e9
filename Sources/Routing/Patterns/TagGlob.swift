/// A pattern without alternatives: bytes and wildcards, one after the other.
struct TagGlob: Sendable, Equatable {
    enum Item: Sendable, Equatable {
        case byte(UInt8)
        /// `*`: any bytes without a dot.
        case inTerm
        /// `**`: any bytes.
        case terms
        /// `**` of `**.`: at the start of the tag, it and the dot behind it may be absent.
        case leadingTerms
        /// The dot of `.**`, which is part of what the wildcard takes: the tag ends here or goes on
        /// with a dot.
        case boundary

        var isWildcard: Bool {
            switch self {
            case .inTerm, .terms, .leadingTerms: true
            case .byte, .boundary: false
            }
        }
    }

    static let dot = UInt8(ascii: ".")

    let items: [Item]

    /// - Complexity: The length of the tag times the length of the pattern.
    func match(_ tag: UnsafeBufferPointer<UInt8>) -> TagMatch? {
        guard startsAlike(tag) else { return nil }
        guard let last = items.lastIndex(where: \.isWildcard) else {
            return items.count == tag.count ? TagMatch(captured: nil) : nil
        }
        let width = tag.count + 1
        let size = (items.count + 1) * width
        return withUnsafeTemporaryAllocation(of: Bool.self, capacity: size) { ends in
            fill(ends, tag)
            return ends[0] ? TagMatch(captured: captured(by: last, tag, ends)) : nil
        }
    }

    /// Compares the bytes in front of the first wildcard, which refuses most tags.
    private func startsAlike(_ tag: UnsafeBufferPointer<UInt8>) -> Bool {
        for (position, item) in items.enumerated() {
            guard case .byte(let byte) = item else { return true }
            guard position < tag.count, tag[position] == byte else { return false }
        }
        return true
    }

    /// Row `item`, column `position`: true if the items from there on match the tag's bytes from
    /// there to its end.
    private func fill(
        _ ends: UnsafeMutableBufferPointer<Bool>,
        _ tag: UnsafeBufferPointer<UInt8>
    ) {
        let width = tag.count + 1
        ends.initialize(repeating: false)
        ends[items.count * width + tag.count] = true
        for (number, item) in items.enumerated().reversed() {
            let row = number * width
            let next = row + width
            for position in (0...tag.count).reversed() {
                let byte = position < tag.count ? tag[position] : nil
                ends[row + position] =
                    switch item {
                    case .byte(let wanted): byte == wanted && ends[next + position + 1]
                    case .inTerm:
                        ends[next + position]
                            || (byte != nil && byte != Self.dot && ends[row + position + 1])
                    case .terms: ends[next + position] || (byte != nil && ends[row + position + 1])
                    case .leadingTerms:
                        ends[next + position] || (byte != nil && ends[row + position + 1])
                            || (position == 0 && ends[next + width])
                    case .boundary:
                        (byte == nil || byte == Self.dot) && ends[next + position]
                    }
            }
        }
    }

    /// Walks the match. Each wildcard takes as much as it can, so earlier ones are served first.
    private func captured(
        by last: Int,
        _ tag: UnsafeBufferPointer<UInt8>,
        _ ends: UnsafeMutableBufferPointer<Bool>
    ) -> String {
        let width = tag.count + 1
        var position = 0
        var number = 0
        while number <= last {
            let item = items[number]
            let start = position
            switch item {
            case .byte: position += 1
            case .boundary: break
            case .inTerm, .terms, .leadingTerms:
                var furthest: Int?
                while true {
                    if ends[(number + 1) * width + position] { furthest = position }
                    guard position < tag.count, item != .inTerm || tag[position] != Self.dot else {
                        break
                    }
                    position += 1
                }
                guard let furthest else {
                    // A leading wildcard that is absent, with its dot.
                    position = 0
                    if number == last { return "" }
                    number += 1
                    break
                }
                position = furthest
            }
            if number == last {
                var taken = tag[start..<position]
                if number > 0, items[number - 1] == .boundary { taken = taken.dropFirst() }
                return String(decoding: taken, as: UTF8.self)
            }
            number += 1
        }
        return ""
    }

    // MARK: - Near misses

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
