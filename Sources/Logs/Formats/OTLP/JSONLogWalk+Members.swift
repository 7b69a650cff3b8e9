import Glibc

// Objects and arrays whose members mean something, taken one by one. What comes back as bytes stands in
// the text, or behind what is written when it had escapes: it is valid until something is written.
extension JSONLogWalk {
    /// Goes into the object that comes next. Whether it has a member.
    mutating func enterObject() throws(JSONFault) -> Bool {
        try enter(UInt8(ascii: "{"), else: .otlp(.objectExpected))
    }

    /// Goes into the array that comes next. Whether it has an element; null is an empty one.
    mutating func enterArray() throws(JSONFault) -> Bool {
        if try takeNull() { return false }
        return try enter(UInt8(ascii: "["), else: .otlp(.arrayExpected))
    }

    private mutating func enter(
        _ opening: UInt8,
        else reason: JSONFault.Reason
    ) throws(JSONFault) -> Bool {
        guard next < tokenCount else { throw unfinished }
        guard byte == opening else { throw fault(reason) }
        next += 1
        guard next < tokenCount else { throw unfinished }
        // An opening bracket and its closing one differ by two.
        guard byte == opening + 2 else { return true }
        next += 1
        return false
    }

    /// Behind a member's value: whether another member follows. Leaves the object otherwise.
    mutating func nextMember() throws(JSONFault) -> Bool {
        try goOn(until: UInt8(ascii: "}"), else: .objectEndExpected)
    }

    /// Behind an element: whether another one follows. Leaves the array otherwise.
    mutating func nextElement() throws(JSONFault) -> Bool {
        try goOn(until: UInt8(ascii: "]"), else: .arrayEndExpected)
    }

    private mutating func goOn(
        until closing: UInt8,
        else reason: JSONFault.Reason
    ) throws(JSONFault) -> Bool {
        guard next < tokenCount else { throw unfinished }
        let separator = byte
        guard separator == UInt8(ascii: ",") || separator == closing else { throw fault(reason) }
        next += 1
        return separator != closing
    }

    /// The name of the member that comes next, of which the value is the next token then.
    mutating func memberName() throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        guard next < tokenCount else { throw unfinished }
        guard byte == UInt8(ascii: "\"") else { throw fault(.keyExpected) }
        guard next + 1 < tokenCount else { throw unfinished }
        let colon = Int(tokens[next + 1])
        guard text[colon] == UInt8(ascii: ":") else { throw JSONFault(.colonExpected, at: colon) }
        let name = try unescaped(Int(tokens[next]) + 1, before: colon)
        next += 2
        guard next < tokenCount else { throw unfinished }
        return name
    }

    /// The string that comes next.
    mutating func string() throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        guard next + 1 < tokenCount else { throw unfinished }
        guard byte == UInt8(ascii: "\"") else { throw fault(.otlp(.stringExpected)) }
        let content = try unescaped(Int(tokens[next]) + 1, before: Int(tokens[next + 1]))
        next += 1
        return content
    }

    private mutating func unescaped(
        _ start: Int,
        before after: Int
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        let count = try stringCount(start, before: after)
        guard memchr(text + start, CInt(UInt8(ascii: "\\")), count) != nil else {
            return UnsafeBufferPointer(start: text + start, count: count)
        }
        makeRoom(from: start)
        let written = try unescape(start, count, to: writer.length)
        return UnsafeBufferPointer(start: writer.memory.start + writer.length, count: written)
    }

    /// Whether a null comes next; it is read then.
    mutating func takeNull() throws(JSONFault) -> Bool {
        guard next + 1 < tokenCount else { throw unfinished }
        guard byte == UInt8(ascii: "n") else { return false }
        _ = try scalarCount(Int(tokens[next]), before: Int(tokens[next + 1]))
        next += 1
        return true
    }

    /// Reads a value that means nothing.
    mutating func skipValue() throws(JSONFault) {
        makeRoom(from: Int(tokens[next]))
        _ = try value(to: writer.length, depth: 1)
    }

    /// Passes the value that comes next without a look at it, and tells where it is: the caller comes back
    /// to it.
    ///
    /// Values that are passed inside of such that were passed cost once for each of them. So what all of it
    /// may cost has a bound, far beyond what anybody writes.
    mutating func pass() throws(JSONFault) -> Int {
        let start = next
        var depth = 0
        repeat {
            guard next < tokenCount else { throw unfinished }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            guard depth >= 0 else { throw fault(.valueExpected) }
            next += 1
        } while depth > 0
        passedTokens += next - start
        guard passedTokens <= 8 * tokenCount else {
            throw JSONFault(.otlp(.disordered), at: Int(tokens[start]))
        }
        return start
    }

    /// How many elements the array has that comes next; nothing is read.
    mutating func elementCount() throws(JSONFault) -> Int {
        let start = try pass()
        let inner = start + 1..<max(start + 1, next - 1)
        next = start
        var (commas, depth) = (0, 0)
        for token in inner {
            switch text[Int(tokens[token])] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ",") where depth == 0: commas += 1
            default: break
            }
        }
        return inner.isEmpty ? 0 : commas + 1
    }
}

func ~= (name: StaticString, text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard text.count == name.utf8CodeUnitCount, let start = text.baseAddress else { return false }
    return memcmp(start, name.utf8Start, text.count) == 0
}
