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

    /// Whether the bytes in front of the first wildcard agree. It refuses most tags.
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
}

extension TagGlob.Item {
    var isWildcard: Bool {
        switch self {
        case .inTerm, .terms, .leadingTerms: true
        case .byte, .boundary: false
        }
    }
}
