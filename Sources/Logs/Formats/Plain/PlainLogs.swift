// Objects and arrays of objects, in any mix, one after the other: a single log, an array, NDJSON.
extension JSONLogDecoder {
    /// Reads each object as a log. A field of it called `timeField` is taken as `__time__` is.
    package func decodePlain(
        _ body: LogBody,
        timeField: String? = nil
    ) throws(LogDecodingError) -> DecodedLogs {
        let options = JSONLogOptions(
            keepsUnreadableTimes: false,
            timeField: timeField.map { TimeField($0) } ?? .none
        )
        let body = body.with(options)
        return try reading(body.bytes) { text, offset throws(JSONFault) in
            do throws(JSONFault) {
                return try read(text, of: body) { reader throws(JSONFault) in
                    try reader.logs()
                    return reader.writer.logs
                }
            } catch {
                guard body.allowsRepair(of: error) else { throw error }
                return try readPieces(of: text, at: offset, after: error)
            }
        }
    }

    /// Reads each object of a damaged body by itself, from the first that could not be read on. An
    /// object that is no JSON even when damaged bytes are replaced becomes a log that is set aside.
    ///
    /// A body without a good log is refused as it would be otherwise, for `first`.
    private func readPieces(
        of text: UnsafeBufferPointer<UInt8>,
        at offset: Int,
        after first: JSONFault
    ) throws(JSONFault) -> DecodedLogs {
        reader.writer.abandonLog(keeping: reader.complete.bytes)
        var pieces = JSONPieces(text, from: reader.incomplete)
        while let range = pieces.next() {
            let piece = UnsafeBufferPointer(rebasing: text[range])
            do throws(JSONFault) {
                try readPiece(piece)
            } catch {
                let fault = JSONFault(error.reason, at: range.lowerBound + error.position)
                try reader.setAside(piece, fault, at: offset)
            }
        }
        guard reader.writer.logCount > reader.unreadable.count else { throw first }
        return reader.writer.logs
    }

    /// Repairs first: a body that gets here mostly has damage in many places, and the repair costs
    /// about as much as finding out that there is nothing to replace.
    private func readPiece(_ piece: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        let kept = reader.writer.output.length
        let copy = try repaired(piece)
        reader.writer.isRepaired = copy != nil && repair.replacedBytes
        defer { reader.writer.isRepaired = false }
        do throws(JSONFault) {
            try reader.start(copy ?? piece)
            try reader.logs()
        } catch {
            reader.writer.abandonLog(keeping: kept)
            guard copy != nil else { throw error }
            throw JSONFault(error.reason, at: repair.source(of: error.position, in: piece))
        }
    }
}

/// Cuts a text that is not JSON as a whole into objects, which can each be read by itself, and
/// other text.
///
/// Only quotes and braces are looked at, so an object costs one pass over its bytes. Bytes between
/// objects in NDJSON, in arrays and after C strings (white space, commas, square brackets, control
/// characters, byte order marks) are skipped.
///
/// An object that does not end is a line, or some, that lost an end. It reaches to the next line
/// that begins with an object or an array and is indented no deeper, so a line that was cut takes
/// no sound line with it.
struct JSONPieces {
    private let text: UnsafeBufferPointer<UInt8>
    private var position: Int
    /// White space at the beginning of the line that `position` is on.
    private var indent: Int

    init(_ text: UnsafeBufferPointer<UInt8>, from start: Int) {
        self.text = text
        position = start
        var line = start
        while line > 0, text[line - 1] != UInt8(ascii: "\n") { line -= 1 }
        indent = Self.blanks(text, line)
    }

    /// An object from its first brace to its last, or else other text: the rest of its line.
    mutating func next() -> Range<Int>? {
        skipBetween()
        guard position < text.count else { return nil }
        let start = position
        if text[start] == UInt8(ascii: "{") {
            passObject()
        } else {
            while position < text.count, text[position] != UInt8(ascii: "\n") { position += 1 }
        }
        var end = position
        while end > start, text[end - 1] <= 0x20 { end -= 1 }
        return start..<end
    }

    private mutating func skipBetween() {
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\n"):
                position += 1
                indent = Self.blanks(text, position)
            case ...0x20, UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"): position += 1
            case 0xEF where isMark: position += 3
            default: return
            }
        }
    }

    private var isMark: Bool {
        position + 2 < text.count && text[position + 1] == 0xBB && text[position + 2] == 0xBF
    }

    /// Goes behind the object that starts here, or, if it has no end, behind all that may belong to
    /// it.
    private mutating func passObject() {
        var depth = 0
        var inString = false
        while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\n"):
                let blanks = Self.blanks(text, position + 1)
                let first = position + 1 + blanks
                if blanks <= indent, first < text.count,
                    text[first] == UInt8(ascii: "{") || text[first] == UInt8(ascii: "[")
                {
                    return
                }
            case UInt8(ascii: "\""): inString.toggle()
            case UInt8(ascii: "\\") where inString:
                // An escaped byte cannot end the string. A line's end counts in any case.
                if position + 1 < text.count, text[position + 1] != UInt8(ascii: "\n") {
                    position += 1
                }
            case UInt8(ascii: "{") where !inString: depth += 1
            case UInt8(ascii: "}") where !inString:
                depth -= 1
                if depth == 0 {
                    position += 1
                    return
                }
            default: break
            }
            position += 1
        }
    }

    private static func blanks(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var position = start
        while position < text.count, text[position] == 0x20 || text[position] == 0x09 {
            position += 1
        }
        return position - start
    }
}
