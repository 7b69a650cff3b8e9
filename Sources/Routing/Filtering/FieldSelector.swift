import Glibc

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
struct NameGlob {
    /// The texts between the asterisks; the first and the last one are the name's beginning and
    /// end.
    private let pieces: [[UInt8]]

    init(_ text: String) {
        pieces = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
            .map { Array($0) }
    }

    /// The leftmost place of each piece is enough, so the cost is bounded by the two lengths.
    func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
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
