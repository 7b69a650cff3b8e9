import CSimdjson

/// Goes through the tokens of a JSON text: structure here, values and strings in extensions. It
/// knows no format, and writes only where a caller made room.
///
/// The text has 64 readable bytes behind its end. A token counts only below `tokenCount`; behind
/// the last one stands the text's length.
struct JSONCursor: ~Copyable {
    /// Objects and arrays inside each other, the outermost included; 64 at most.
    let depthMax: Int
    private let index = JSONIndex()

    private(set) var text: UnsafePointer<UInt8>
    private(set) var textCount = 0
    private var tokens: UnsafePointer<UInt32>
    private(set) var tokenCount = 0
    /// The number of the token to read next.
    private(set) var next = 0

    init(depthMax: Int) {
        self.depthMax = min(depthMax, 64)
        // Nothing is read while there are no tokens.
        let none: StaticString = ""
        text = none.utf8Start
        tokens = UnsafeRawPointer(none.utf8Start).assumingMemoryBound(to: UInt32.self)
    }

    /// Finds the tokens of a text and stands at the first one. When it throws there are none.
    mutating func start(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        (next, tokenCount) = (0, 0)
        guard let first = text.baseAddress else { throw JSONFault(.empty, at: 0) }
        let found = try index.tokens(of: first, count: text.count)
        self.text = first
        textCount = text.count
        if let first = found.baseAddress { tokens = first }
        tokenCount = found.count
    }

    func shrink() { index.shrink() }

    // MARK: - Tokens

    /// True when the next token exists, and so many behind it.
    @inline(__always)
    func hasToken(ahead: Int = 0) -> Bool { next + ahead < tokenCount }

    @inline(__always)
    func expectToken(ahead: Int = 0) throws(JSONFault) {
        guard next + ahead < tokenCount else { throw unfinished }
    }

    /// Where the next token starts in the text.
    var position: Int {
        @inline(__always) get { Int(tokens[next]) }
    }

    /// Where the token starts that lies so many behind the next one.
    @inline(__always)
    func position(ahead: Int) -> Int { Int(tokens[next + ahead]) }

    /// Where a token starts, by its number; the text's length behind the last one.
    func position(of token: Int) -> Int { Int(tokens[token]) }

    /// The first byte of the next token.
    var byte: UInt8 {
        @inline(__always) get { text[Int(tokens[next])] }
    }

    @inline(__always)
    mutating func skip(_ count: Int = 1) { next += count }

    /// Goes back to a token that was passed, or behind what was read out of order.
    mutating func move(to token: Int) {
        precondition(token <= tokenCount, "a token of this text")
        next = token
    }

    func fault(_ reason: JSONFault.Reason) -> JSONFault { JSONFault(reason, at: position) }

    var unfinished: JSONFault { JSONFault(.unfinished, at: textCount) }

    /// Refuses tokens behind the one value that the text should have.
    func expectEnd() throws(JSONFault) {
        guard next == tokenCount else { throw fault(.textFollows) }
    }

    // MARK: - Objects and arrays

    /// Enters the object that comes next. True when it has a member.
    mutating func enterObject() throws(JSONFault) -> Bool {
        try enter(UInt8(ascii: "{"), else: .objectExpected)
    }

    /// Enters the array that comes next; null is an empty one. True when it has an element.
    mutating func enterArray() throws(JSONFault) -> Bool {
        if try takeNull() { return false }
        return try enter(UInt8(ascii: "["), else: .arrayExpected)
    }

    private mutating func enter(
        _ opening: UInt8,
        else reason: JSONFault.Reason
    ) throws(JSONFault) -> Bool {
        try expectToken()
        guard byte == opening else { throw fault(reason) }
        next += 1
        try expectToken()
        // An opening bracket and its closing one differ by two.
        guard byte == opening + 2 else { return true }
        next += 1
        return false
    }

    /// After a member's value: true when another member follows, else the object is left.
    mutating func nextMember() throws(JSONFault) -> Bool {
        try goOn(until: UInt8(ascii: "}"), else: .objectEndExpected)
    }

    /// After an element: true when another one follows, else the array is left.
    mutating func nextElement() throws(JSONFault) -> Bool {
        try goOn(until: UInt8(ascii: "]"), else: .arrayEndExpected)
    }

    private mutating func goOn(
        until closing: UInt8,
        else reason: JSONFault.Reason
    ) throws(JSONFault) -> Bool {
        try expectToken()
        let separator = byte
        guard separator == UInt8(ascii: ",") || separator == closing else { throw fault(reason) }
        next += 1
        return separator != closing
    }

    /// The name of the next member as it stands in the text; its value, if any, comes next.
    mutating func memberName() throws(JSONFault) -> Range<Int> {
        try expectToken()
        guard byte == UInt8(ascii: "\"") else { throw fault(.keyExpected) }
        try expectToken(ahead: 1)
        let colon = position(ahead: 1)
        guard text[colon] == UInt8(ascii: ":") else { throw JSONFault(.colonExpected, at: colon) }
        let start = position + 1
        let count = try stringCount(start, before: colon)
        next += 2
        return start..<start + count
    }

    /// What is wrong with a member that lacks its name, colon, value or the token behind it.
    @inline(never)
    func brokenMember() -> JSONFault {
        guard hasToken() else { return unfinished }
        guard byte == UInt8(ascii: "\"") else { return fault(.keyExpected) }
        guard hasToken(ahead: 1) else { return unfinished }
        let colon = position(ahead: 1)
        guard text[colon] == UInt8(ascii: ":") else { return JSONFault(.colonExpected, at: colon) }
        guard hasToken(ahead: 2) else { return unfinished }
        let value = position(ahead: 2)
        switch text[value] {
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
            return JSONFault(.valueExpected, at: value)
        default: return unfinished
        }
    }

    // MARK: - Passing

    /// Passes the next value unchecked, and returns its token: the caller comes back to it.
    mutating func pass() throws(JSONFault) -> Int {
        let start = next
        var depth = 0
        repeat {
            try expectToken()
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            guard depth >= 0 else { throw fault(.valueExpected) }
            next += 1
        } while depth > 0
        return start
    }

    /// Counts the next array's elements and the tokens that were passed for it; nothing is read.
    mutating func elementCount() throws(JSONFault) -> (elements: Int, tokens: Int) {
        let start = try pass()
        let end = next
        next = start
        var (commas, depth) = (0, 0)
        let inner = start + 1..<max(start + 1, end - 1)
        for token in inner {
            switch text[position(of: token)] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ",") where depth == 0: commas += 1
            default: break
            }
        }
        return (inner.isEmpty ? 0 : commas + 1, end - start)
    }
}

/// Where the tokens of a JSON text start, found by simdjson at several bytes a cycle.
struct JSONIndex: ~Copyable {
    private let index: OpaquePointer

    init() {
        guard let index = sluice_json_create() else {
            preconditionFailure("the system has no memory left")
        }
        self.index = index
    }

    deinit { sluice_json_destroy(index) }

    /// Positions of all tokens, ascending, followed by the text's length. Valid until the next
    /// call.
    ///
    /// Strings are known to be closed, valid UTF-8 and free of control characters then. Nothing
    /// else is checked yet.
    func tokens(
        of text: UnsafePointer<UInt8>,
        count: Int
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt32> {
        guard count < UInt32.max else { throw JSONFault(.tooLarge, at: 0) }
        var positions: UnsafePointer<UInt32>?
        var found = 0
        let result = sluice_json_build(index, text, count, &positions, &found)
        guard result == sluice_json_ok else {
            switch result {
            case sluice_json_empty: throw JSONFault(.empty, at: 0)
            case sluice_json_no_memory: throw JSONFault(.noMemory, at: 0)
            default: throw JSONFault.first(in: UnsafeBufferPointer(start: text, count: count))
            }
        }
        return UnsafeBufferPointer(start: positions, count: found)
    }

    func shrink() { sluice_json_shrink(index, RawMemory.keptBytes) }
}
