/// All patterns of a configuration in one automaton, which reads a tag once. Regular expressions
/// run on their own.
///
/// Each position of each pattern is a bit, and one step moves all bits of a word (Shift-And). A bit
/// is set while the items in front of its position match the bytes read so far.
struct TagAutomaton: Sendable {
    /// One bit each. A tag costs a few operations for each word and byte.
    static let statesMax = 32_768

    private let wordCount: Int
    /// The mask that a byte uses. 0: a byte that no pattern names.
    private let classes: [UInt8]
    /// By class and word: positions whose byte it is.
    private let byteMasks: [UInt64]
    private let dotClass: UInt8
    /// Positions of wildcards that a dot does not end: they stay set with any byte.
    private let terms: [UInt64]
    /// Positions of all wildcards: they stay set with any byte but a dot.
    private let anyWildcard: [UInt64]
    private let boundaries: [UInt64]
    /// Set before the first byte, and where the tag is empty or begins with a dot.
    private let start: [UInt64]
    private let startAtDot: [UInt64]
    /// The last position of each alternative, and the number of its pattern.
    private let ends: [(state: Int, pattern: Int)]
    private let expressions: [(expression: TagExpression, pattern: Int)]

    /// Nil: the patterns need more than `statesMax` states.
    init?(_ patterns: [TagPattern]) {
        var globs: [(glob: TagGlob, first: Int)] = []
        var ends: [(state: Int, pattern: Int)] = []
        var expressions: [(expression: TagExpression, pattern: Int)] = []
        var stateCount = 0
        for (number, pattern) in patterns.enumerated() {
            for alternative in pattern.alternatives {
                switch alternative {
                case .expression(let expression): expressions.append((expression, number))
                case .glob(let glob):
                    globs.append((glob, stateCount))
                    stateCount += glob.items.count + 1
                    ends.append((stateCount - 1, number))
                }
            }
            guard stateCount <= Self.statesMax else { return nil }
        }
        self.ends = ends
        self.expressions = expressions
        let wordCount = (stateCount + 63) / 64
        self.wordCount = wordCount

        let (classes, classCount) = Self.classes(of: globs.map(\.glob))
        self.classes = classes
        dotClass = classes[Int(TagGlob.dot)]

        var byteMasks = [UInt64](repeating: 0, count: classCount * wordCount)
        var terms = BitSet(wordCount)
        var wildcards = BitSet(wordCount)
        var boundaries = BitSet(wordCount)
        var start = BitSet(wordCount)
        var startAtDot = BitSet(wordCount)
        for (glob, first) in globs {
            for (offset, item) in glob.items.enumerated() {
                let state = first + offset
                switch item {
                case .byte(let byte):
                    let row = Int(classes[Int(byte)]) * wordCount
                    byteMasks[row + state / 64] |= 1 << UInt64(state % 64)
                case .inTerm: wildcards.insert(state)
                case .terms, .leadingTerms:
                    wildcards.insert(state)
                    terms.insert(state)
                case .boundary: boundaries.insert(state)
                }
            }
            for offset in glob.startOffsets(atDot: false) { start.insert(first + offset) }
            for offset in glob.startOffsets(atDot: true) { startAtDot.insert(first + offset) }
        }
        self.byteMasks = byteMasks
        self.terms = terms.words
        anyWildcard = wildcards.words
        self.boundaries = boundaries.words
        self.start = start.words
        self.startAtDot = startAtDot.words
    }

    /// The mask of each byte, 0 for bytes that no pattern names, and the number of masks.
    private static func classes(of globs: [TagGlob]) -> (classes: [UInt8], count: Int) {
        var classes = [UInt8](repeating: 0, count: 256)
        var count: UInt8 = 1
        for byte in [TagGlob.dot] + globs.flatMap(\.bytes) where classes[Int(byte)] == 0 {
            // A valid UTF-8 text has fewer than 255 different bytes.
            classes[Int(byte)] = count
            count += 1
        }
        return (classes, Int(count))
    }

    /// Calls `body` with the number of each pattern that matches, perhaps more than once.
    func matches(_ tag: UnsafeBufferPointer<UInt8>, _ body: (Int) -> Void) {
        if wordCount > 0 {
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: wordCount) { set in
                run(tag, set)
                for (state, pattern) in ends where set[state / 64] >> UInt64(state % 64) & 1 == 1 {
                    body(pattern)
                }
            }
        }
        for (expression, pattern) in expressions where expression.matches(tag) { body(pattern) }
    }

    private func run(
        _ tag: UnsafeBufferPointer<UInt8>,
        _ set: UnsafeMutableBufferPointer<UInt64>
    ) {
        let isAtDot = tag.first.map { $0 == TagGlob.dot } ?? true
        _ = set.initialize(from: isAtDot ? startAtDot : start)
        for (number, byte) in tag.enumerated() {
            let byteClass = classes[Int(byte)]
            if byteClass == dotClass, number > 0 { passBoundaries(set) }
            step(set, byteClass)
        }
        if !tag.isEmpty { passBoundaries(set) }
    }

    private func step(_ set: UnsafeMutableBufferPointer<UInt64>, _ byteClass: UInt8) {
        let row = Int(byteClass) * wordCount
        var carriedByte: UInt64 = 0
        var carriedEmpty: UInt64 = 0
        for word in 0..<wordCount {
            let old = set[word]
            if old | carriedByte | carriedEmpty == 0 { continue }
            let moved = old & byteMasks[row + word]
            let stays = byteClass == dotClass ? terms[word] : anyWildcard[word]
            var new = (moved << 1) | carriedByte | carriedEmpty | (old & stays)
            new = Self.closure(new, anyWildcard[word])
            carriedByte = moved >> 63
            carriedEmpty = (new & anyWildcard[word]) >> 63
            set[word] = new
        }
    }

    /// The tag ends, or a dot is next.
    private func passBoundaries(_ set: UnsafeMutableBufferPointer<UInt64>) {
        var carried: UInt64 = 0
        for word in 0..<wordCount {
            let empty = anyWildcard[word] | boundaries[word]
            let new = Self.closure(set[word] | carried, empty)
            carried = (new & empty) >> 63
            set[word] = new
        }
    }

    /// Adds the positions behind set ones whose items may take nothing.
    @inline(__always)
    private static func closure(_ set: UInt64, _ empty: UInt64) -> UInt64 {
        var set = set
        while true {
            let more = set | (set & empty) << 1
            if more == set { return set }
            set = more
        }
    }
}

private struct BitSet {
    var words: [UInt64]

    init(_ wordCount: Int) { words = Array(repeating: 0, count: wordCount) }

    mutating func insert(_ bit: Int) { words[bit / 64] |= 1 << UInt64(bit % 64) }
}

extension TagGlob {
    fileprivate var bytes: [UInt8] {
        items.compactMap { if case .byte(let byte) = $0 { byte } else { nil } }
    }

    /// Positions that are reached before the first byte.
    fileprivate func startOffsets(atDot: Bool) -> Set<Int> {
        var found: Set<Int> = [0]
        for (offset, item) in items.enumerated() where found.contains(offset) {
            switch item {
            case .byte: break
            case .inTerm, .terms: found.insert(offset + 1)
            case .leadingTerms: found.formUnion([offset + 1, offset + 2])
            case .boundary: if atDot { found.insert(offset + 1) }
            }
        }
        return found
    }
}
