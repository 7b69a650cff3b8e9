/// Texts of one body that should be logs and cannot be read.
///
/// A body with too many of them is refused: it is another format, and each dead letter is a row of
/// the queue.
struct UnreadableTexts {
    /// How many were set aside.
    private(set) var count = 0
    /// Those in a repaired copy that wait to be set aside as they were sent, in ascending order.
    private(set) var noted: [(range: Range<Int>, fault: JSONFault)] = []

    mutating func add(_ fault: JSONFault, bytes: Int, _ limits: LogLimits) throws(JSONFault) {
        guard !fault.reason.concernsRequest else { throw fault }
        guard bytes <= limits.unreadableBytes else {
            throw JSONFault(.unreadableTooLarge(limits.unreadableBytes), at: fault.position)
        }
        guard count < limits.unreadable else {
            throw JSONFault(.tooManyUnreadable(limits.unreadable), at: fault.position)
        }
        count += 1
    }

    mutating func note(
        _ fault: JSONFault,
        at range: Range<Int>,
        _ limits: LogLimits
    ) throws(JSONFault) {
        guard !fault.reason.concernsRequest else { throw fault }
        guard noted.count < limits.unreadable else {
            throw JSONFault(.tooManyUnreadable(limits.unreadable), at: fault.position)
        }
        noted.append((range, fault))
    }
}

extension JSONLogReader {
    /// True when the body has a log that could be read, or nothing that could not.
    var hasReadable: Bool {
        unreadable.count == 0 || writer.requestLogCount > unreadable.count
    }

    /// Writes a text that is no log, for the dead letters. `offset` is where the reader's text
    /// starts in the body.
    mutating func setAside(
        _ text: UnsafeBufferPointer<UInt8>,
        _ fault: JSONFault,
        at offset: Int = 0
    ) throws(JSONFault) {
        try unreadable.add(fault, bytes: text.count, limits)
        guard !writer.isFull else { throw JSONFault(.tooManyLogs(limits.logs), at: fault.position) }
        writer.setAside(
            unreadable: text,
            .unreadable(at: fault.position + offset, reason: fault.reason.sentence)
        )
    }

    /// An element of an array of logs, or else its text, which may be anything that has brackets in
    /// pairs.
    mutating func elementOrText(depth: Int) throws(JSONFault) {
        let (first, kept) = (cursor.next, writer.output.length)
        do throws(JSONFault) {
            try element(depth: depth)
        } catch {
            writer.abandonLog(keeping: kept)
            cursor.move(to: first)
            guard (try? cursor.pass()) != nil else { throw error }
            let start = cursor.position(of: first)
            var end = cursor.position
            while end > start, cursor.text[end - 1] <= 0x20 { end -= 1 }
            if options.damaged == .note {
                try unreadable.note(error, at: start..<end, limits)
            } else {
                let text = UnsafeBufferPointer(start: cursor.text + start, count: end - start)
                try setAside(text, error)
            }
        }
    }
}
