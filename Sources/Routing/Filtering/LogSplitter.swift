import Logs

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
        guard var elements = JSONMembers(array: text) else { throw .notArray }
        while case .element(let element) = elements.nextElement() {
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
        guard var elements = JSONMembers(array: text) else { throw .notArray }
        var count = 0
        while true {
            switch elements.nextElement() {
            case .element:
                count += 1
                guard count <= most else { throw .tooManyElements(most: most) }
            case .end: return count
            case .broken: throw .notArray
            }
        }
    }
}
