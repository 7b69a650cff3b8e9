/// Copies a refused JSON text with replacements for what damaged or careless programs write. The
/// copy is kept until it is read.
///
/// - Bytes that are not UTF-8 become U+FFFD, one for each maximal subpart, as browsers decode.
/// - Raw control characters in strings are escaped, so that they arrive; between tokens they become
///   spaces. A backslash in front of either was no escape and is kept.
/// - NaN and infinities, as Python, Java and C write them, become their text: SLS stores texts
///   anyway.
///
/// Everything else stays as it is, so the copy may still not be JSON.
struct JSONRepair: ~Copyable {
    /// Bytes behind the text that readers may touch.
    private static let slack = 64

    private var memory = RawMemory(capacity: 64)
    private var count = 0
    private var replacedAnything = false
    /// True when some of the text was not UTF-8.
    private(set) var replacedBytes = false

    /// Where the part of the text starts that is not copied yet.
    private var pending = 0
    /// Positions in the copy to look up, ascending, and those in the text that were found so far.
    private var wanted: [Int] = []
    private var found: [Int] = []

    /// The copy, valid until the next call.
    var copy: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: UnsafePointer(memory.start), count: count)
    }

    /// Makes the copy, up to so many bytes longer. True when it differs from the text.
    mutating func run(
        _ text: UnsafeBufferPointer<UInt8>,
        adding bytesMax: Int
    ) throws(JSONFault) -> Bool {
        (wanted, found) = ([], [])
        try rewrite(text, adding: bytesMax)
        return replacedAnything
    }

    /// Finds the position in the text that a position in its copy was made from, by copying again.
    mutating func source(of position: Int, in text: UnsafeBufferPointer<UInt8>) -> Int {
        sources(of: [position], in: text)[0]
    }

    /// The same for several positions, in ascending order.
    mutating func sources(of positions: [Int], in text: UnsafeBufferPointer<UInt8>) -> [Int] {
        (wanted, found) = (positions, [])
        try? rewrite(text, adding: .max)
        // A position behind the copy is the text's end.
        return found + Array(repeating: text.count, count: positions.count - found.count)
    }

    /// Ends the copy at a position with these bytes.
    mutating func end(at position: Int, with ending: StaticString) {
        count = position
        makeRoom(for: ending.utf8CodeUnitCount)
        (memory.start + count).update(from: ending.utf8Start, count: ending.utf8CodeUnitCount)
        count += ending.utf8CodeUnitCount
    }

    mutating func shrink() {
        memory.shrink()
        count = 0
    }

    private mutating func rewrite(
        _ text: UnsafeBufferPointer<UInt8>,
        adding bytesMax: Int
    ) throws(JSONFault) {
        (count, pending, replacedAnything, replacedBytes) = (0, 0, false, false)
        memory.grow(to: text.count + text.count / 8 + Self.slack, keeping: 0)
        var position = 0
        var inString = false
        while position < text.count {
            let byte = text[position]
            switch byte {
            case 0x80...:
                let size = UTF8Sequence.size(text, position)
                guard size == 0 else {
                    position += size
                    continue
                }
                replacedBytes = true
                let damaged = UTF8Sequence.damagedSize(text, position)
                replace(text, position, damaged, by: .replacement)
                position += damaged
            case UInt8(ascii: "\""):
                inString.toggle()
                position += 1
            case UInt8(ascii: "\\") where inString:
                position += passBackslash(text, position)
            case ..<0x20:
                if inString {
                    replace(text, position, 1, by: .escape(of: byte))
                } else if byte != 0x0A, byte != 0x0D, byte != 0x09 {
                    replace(text, position, 1, by: .space)
                }
                position += 1
            default:
                let word = inString ? 0 : Self.numberWord(text, position)
                if word > 0 {
                    replace(text, position, 0, by: .quote)
                    replace(text, position + word, 0, by: .quote)
                }
                position += max(word, 1)
            }
            guard count - pending <= bytesMax else {
                throw JSONFault(.repairTooLarge(bytesMax), at: position)
            }
        }
        flush(text, upTo: text.count)
    }

    /// Passes a backslash in a string, with the byte that it escapes, and returns their size.
    private mutating func passBackslash(
        _ text: UnsafeBufferPointer<UInt8>,
        _ position: Int
    ) -> Int {
        guard position + 1 < text.count else { return 1 }
        let next = text[position + 1]
        if next >= 0x20, next < 0x80 { return 2 }
        if next < 0x20 || UTF8Sequence.size(text, position + 1) == 0 {
            replace(text, position, 1, by: .backslash)
        }
        return 1
    }

    private mutating func replace(
        _ text: UnsafeBufferPointer<UInt8>,
        _ position: Int,
        _ size: Int,
        by bytes: FewBytes
    ) {
        replacedAnything = true
        flush(text, upTo: position)
        makeRoom(for: FewBytes.most)
        UnsafeMutableRawPointer(memory.start + count)
            .storeBytes(of: bytes.word.littleEndian, as: UInt64.self)
        count += bytes.count
        pending = position + size
        while found.count < wanted.count, count > wanted[found.count] { found.append(position) }
    }

    private mutating func flush(_ text: UnsafeBufferPointer<UInt8>, upTo end: Int) {
        guard end > pending, let start = text.baseAddress else { return }
        makeRoom(for: end - pending)
        (memory.start + count).update(from: start + pending, count: end - pending)
        count += end - pending
        pending = end
        while found.count < wanted.count, count > wanted[found.count] {
            found.append(end - (count - wanted[found.count]))
        }
    }

    private mutating func makeRoom(for size: Int) {
        let needed = count + size + Self.slack
        if needed > memory.capacity { memory.grow(to: needed + needed / 2, keeping: count) }
    }
}

/// Up to eight bytes. No allocation for each, since a text may be nothing but damage.
private struct FewBytes {
    static let most = 8
    static let replacement = FewBytes(word: 0xBD_BF_EF, count: 3)
    static let space = FewBytes(word: 0x20, count: 1)
    static let quote = FewBytes(word: UInt64(UInt8(ascii: "\"")), count: 1)
    static let backslash = FewBytes(word: 0x5C_5C, count: 2)

    /// The first byte is the lowest.
    let word: UInt64
    let count: Int

    /// As RFC 8259 escapes a control character.
    static func escape(of byte: UInt8) -> FewBytes {
        let letter: UInt8? =
            switch byte {
            case 0x08: UInt8(ascii: "b")
            case 0x09: UInt8(ascii: "t")
            case 0x0A: UInt8(ascii: "n")
            case 0x0C: UInt8(ascii: "f")
            case 0x0D: UInt8(ascii: "r")
            default: nil
            }
        if let letter { return FewBytes(word: UInt64(letter) << 8 | 0x5C, count: 2) }
        let low = UInt8.hexDigit(byte & 15)
        // Backslash, u, 0, 0.
        let start: UInt64 = 0x3030_755C
        let high = UInt64(UInt8(ascii: "0") + byte >> 4)
        return FewBytes(word: UInt64(low) << 40 | high << 32 | start, count: 6)
    }
}

extension JSONRepair {
    private static let words = ["nan", "infinity", "inf"].map { Array($0.utf8) }

    /// The length of a number that JSON cannot write, with its sign, where one starts here; else 0.
    private static func numberWord(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var first = start
        if text[first] == UInt8(ascii: "-") || text[first] == UInt8(ascii: "+") { first += 1 }
        guard first < text.count else { return 0 }
        let letter = text[first] | 0x20
        guard letter == UInt8(ascii: "n") || letter == UInt8(ascii: "i"),
            start == 0 || endsToken(text[start - 1])
        else { return 0 }
        for word in words where first + word.count <= text.count {
            let end = first + word.count
            guard zip(text[first..<end], word).allSatisfy({ $0 | 0x20 == $1 }),
                end == text.count || endsToken(text[end])
            else { continue }
            return end - start
        }
        return 0
    }

    private static func endsToken(_ byte: UInt8) -> Bool {
        byte <= 0x20 || ",:[]{}".utf8.contains(byte)
    }
}
