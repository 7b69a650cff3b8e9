import Logs

/// Makes fields of a value, as a `parse` step wants.
extension FilterProgram.Parser {
    /// When it throws, the log may be changed in part: the caller restores it.
    /// `groups` is memory for the groups of a pattern.
    func apply(
        to draft: LogDraft,
        _ groups: inout [Range<Int>?]
    ) throws(StepFailure) {
        guard let source = draft.index(of: field) else { return }
        let value = draft.field(source).value
        if removesSource { draft.remove(source) }
        // With this much room the value stays where it is while its parts are written.
        try draft.reserve(2 * value.count + Parsing.fieldsMax * (prefix.count + 64))
        switch format {
        case .json: try parseJSON(value, draft)
        case .keyValue: try parsePairs(value, draft)
        case .regex(let pattern, let names):
            guard pattern.groups(in: draft.bytes(value), into: &groups) else { throw .noMatch }
            guard names.count <= Parsing.fieldsMax else { throw .tooManyParsedFields }
            for (group, name) in names {
                guard group < groups.count, let range = groups[group] else { continue }
                try draft.set(name, value.part(range))
            }
        }
    }

    // MARK: - JSON

    private func parseJSON(_ value: DraftText, _ draft: LogDraft) throws(StepFailure) {
        let text = draft.bytes(value)
        guard var members = JSONMembers(text) else { throw .notJSON }
        var count = 0
        while true {
            switch members.next() {
            case .end: return
            case .broken: throw .notJSON
            case .member(let name, let member):
                count += 1
                guard count <= Parsing.fieldsMax else { throw .tooManyParsedFields }
                let name = try self.name(draft) { () throws(StepFailure) in
                    try draft.write(name, of: value, text)
                }
                try draft.set(name, try draft.unescaped(member, of: value, text))
            }
        }
    }

    // MARK: - Pairs

    /// Words of `key=value` with space between them. A value in double quotes may have spaces, and
    /// `\` in front of a quote or another `\`. Words without `=` are passed over.
    private func parsePairs(_ value: DraftText, _ draft: LogDraft) throws(StepFailure) {
        let text = draft.bytes(value)
        var place = 0
        var count = 0
        while true {
            while place < text.count, Self.isSpace(text[place]) { place += 1 }
            guard place < text.count else { break }
            let start = place
            while place < text.count, !Self.isSpace(text[place]), text[place] != UInt8(ascii: "=") {
                place += 1
            }
            guard place < text.count, text[place] == UInt8(ascii: "="), place > start else {
                while place < text.count, !Self.isSpace(text[place]) { place += 1 }
                continue
            }
            count += 1
            guard count <= Parsing.fieldsMax else { throw .tooManyParsedFields }
            let key = value.part(start..<place)
            let name = try self.name(draft) { () throws(StepFailure) in try draft.write(key) }
            place += 1
            try draft.set(name, try pairValue(value, text, at: &place, draft))
        }
        guard count > 0 else { throw .notPairs }
    }

    private func pairValue(
        _ value: DraftText,
        _ text: UnsafeBufferPointer<UInt8>,
        at place: inout Int,
        _ draft: LogDraft
    ) throws(StepFailure) -> DraftText {
        guard place < text.count, text[place] == UInt8(ascii: "\"") else {
            let start = place
            while place < text.count, !Self.isSpace(text[place]) { place += 1 }
            return value.part(start..<place)
        }
        place += 1
        let start = draft.textStart
        while place < text.count {
            var byte = text[place]
            place += 1
            if byte == UInt8(ascii: "\"") { return draft.text(from: start) }
            if byte == UInt8(ascii: "\\"), place < text.count,
                text[place] == UInt8(ascii: "\"") || text[place] == UInt8(ascii: "\\")
            {
                byte = text[place]
                place += 1
            }
            try draft.write(byte)
        }
        // The quote is not closed.
        throw .notPairs
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    // MARK: - Names

    /// The prefix and a name, as decoders would store it.
    private func name(
        _ draft: LogDraft,
        _ write: () throws(StepFailure) -> Void
    ) throws(StepFailure) -> NewName {
        let start = draft.textStart
        try draft.write(prefix)
        try write()
        let name = draft.newName(draft.text(from: start))
        if name.text.count == 0 || ReservedKey(draft.bytes(name.text)) != nil {
            let text = String(decoding: draft.bytes(name.text), as: UTF8.self)
            let stored = Array(FieldName.storable(text, bytesMax: .max).utf8)
            draft.dropText(from: start)
            try draft.write(stored)
            return draft.newName(draft.text(from: start))
        }
        return name
    }
}

extension LogDraft {
    /// Writes what a part of a JSON value means. `text` is the bytes of `value`.
    func write(
        _ part: JSONMembers.Text,
        of value: DraftText,
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(StepFailure) {
        guard part.hasEscapes else { return try write(value.part(part.range)) }
        var string = JSONString(text, part.range)
        try string.write(to: self)
    }

    func unescaped(
        _ part: JSONMembers.Text,
        of value: DraftText,
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(StepFailure) -> DraftText {
        guard part.hasEscapes else { return value.part(part.range) }
        let start = textStart
        try write(part, of: value, text)
        return self.text(from: start)
    }
}

/// Makes a log of each element of an array, as a `split` step wants.
extension FilterProgram.Splitter {
    /// The most that tags and lengths of a log and one field take.
    private static let framingBytes = 24

    /// nil: the log has no such field, or no element, and stays as it is. The draft is as it was
    /// before.
    func pieces(
        of draft: LogDraft,
        atMost bytesMax: Int,
        _ memory: inout RawMemory
    ) throws(StepFailure) -> EncodedLogs? {
        guard let index = draft.index(of: field) else { return nil }
        let value = draft.field(index).value
        // With this much room the value stays where it is while its parts are written.
        try draft.reserve(value.count)
        let text = draft.bytes(value)
        let count = try count(text)
        guard count > 0 else { return nil }
        let saved = draft.save()
        defer { draft.restore(saved) }
        draft.remove(index)
        // Checked before anything is copied. An element is no longer than its text.
        let common = draft.encodedBytes + name.text.count + Self.framingBytes
        guard count * common + value.count <= bytesMax else { throw .tooMuchSplit }
        var pieces = EncodedLogs()
        guard var elements = JSONMembers(text, isArray: true) else { throw .notArray }
        while case .member(_, let element) = elements.next() {
            let start = draft.textStart
            defer { draft.dropText(from: start) }
            try draft.set(name, try draft.unescaped(element, of: value, text))
            pieces.bytes.append(contentsOf: draft.encode(to: &memory))
            pieces.count += 1
            draft.restore(saved)
            draft.remove(index)
        }
        return pieces
    }

    /// Checks the whole array before anything is written.
    private func count(_ text: UnsafeBufferPointer<UInt8>) throws(StepFailure) -> Int {
        guard var elements = JSONMembers(text, isArray: true) else { throw .notArray }
        var count = 0
        while true {
            switch elements.next() {
            case .member:
                count += 1
                guard count <= most else { throw .tooManyElements(most: most) }
            case .end: return count
            case .broken: throw .notArray
            }
        }
    }
}
