import Glibc

/// Reads JSON bodies and writes their logs as protobuf, in one pass. There is one for each thread:
/// it keeps the parser and its scratch memory. Each format adds its verb in its own folder.
///
/// simdjson finds the tokens; its own second stage is not used. The walk over them writes every
/// field once, at its final place: no object, `String` or number conversion on the way, so numbers
/// keep the digits they were sent with.
///
/// `__time__` gives a log's time and is not stored. `LogWriter` treats other special names, and
/// logs that SLS would refuse; the rules for it come with each body. Bodies must have 64 readable
/// bytes after their end.
package final class JSONLogDecoder {
    var reader: JSONLogReader
    var repair = JSONRepair()
    /// Texts so far that could be read only after bytes of them were replaced.
    package private(set) var repairs = 0

    package init(limits: LogLimits = LogLimits()) {
        reader = JSONLogReader(limits: limits)
    }

    /// Reads a body as a whole. If that fails and the rules allow it, the whole body is read again
    /// with its damaged bytes replaced, so a sound body pays nothing for it.
    func decode<Result>(
        _ body: LogBody,
        _ take: (inout JSONLogReader) throws(JSONFault) -> Result
    ) throws(LogDecodingError) -> Result {
        try reading(body.bytes) { text, _ throws(JSONFault) in
            let first: JSONFault
            do throws(JSONFault) {
                return try read(text, of: body, take)
            } catch {
                guard body.allowsRepair(of: error) else { throw error }
                first = error
            }
            guard let copy = try repaired(text) else { throw first }
            do throws(JSONFault) {
                return try read(copy, of: body, isRepaired: repair.replacedBytes, take)
            } catch {
                throw JSONFault(error.reason, at: repair.source(of: error.position, in: text))
            }
        }
    }

    /// Gives `read` a body without its byte order mark, and the size of that mark.
    func reading<Result>(
        _ body: UnsafeRawBufferPointer,
        _ read: (UnsafeBufferPointer<UInt8>, Int) throws(JSONFault) -> Result
    ) throws(LogDecodingError) -> Result {
        // RFC 8259, 8.1: a byte order mark may be ignored.
        let hasMark = body.count >= 3 && body[0] == 0xEF && body[1] == 0xBB && body[2] == 0xBF
        let skipped = hasMark ? 3 : 0
        defer { shrink(after: body.count) }
        do throws(JSONFault) {
            guard let text = body.bindMemory(to: UInt8.self).baseAddress, body.count > skipped
            else {
                throw JSONFault(.empty, at: 0)
            }
            return try read(
                UnsafeBufferPointer(start: text + skipped, count: body.count - skipped),
                skipped
            )
        } catch {
            throw error.moved(by: skipped)
        }
    }

    /// Begins a body and reads it as one text.
    func read<Result>(
        _ text: UnsafeBufferPointer<UInt8>,
        of body: LogBody,
        isRepaired: Bool = false,
        _ take: (inout JSONLogReader) throws(JSONFault) -> Result
    ) throws(JSONFault) -> Result {
        reader.startBody(body)
        reader.writer.isRepaired = isRepaired
        try reader.start(text)
        return try take(&reader)
    }

    /// A copy of the text with its damage replaced; nil when there is nothing to replace.
    func repaired(
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8>? {
        guard try repair.run(text, adding: reader.limits.repairBytes) else { return nil }
        repairs += 1
        return repair.copy
    }

    func shrink(after bodyBytes: Int) {
        if bodyBytes > RawMemory.keptBytes { reader.cursor.shrink() }
        reader.writer.shrink()
        repair.shrink()
    }
}

/// A body to be read as logs, and what applies to them.
package struct LogBody {
    package var bytes: UnsafeRawBufferPointer
    let timing: BatchTiming
    let rules: LogRules
    /// What the members of JSON mean. Each format in JSON sets it.
    var options = JSONLogOptions()

    package init(
        _ bytes: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules()
    ) {
        (self.bytes, self.timing, self.rules) = (bytes, timing, rules)
    }

    /// The same body with other options.
    func with(_ options: JSONLogOptions) -> LogBody {
        var body = self
        body.options = options
        return body
    }

    /// True when a text with this fault may be read again with its damaged bytes replaced.
    func allowsRepair(of fault: JSONFault) -> Bool {
        rules.damage == .setAside && !fault.reason.concernsRequest
    }
}

/// What the fields of a format's objects mean. A body has one value from its beginning to its end.
struct JSONLogOptions {
    /// What becomes of an element of an array of logs that cannot be read.
    enum Damaged {
        case refuse
        /// Its text is kept, apart from the logs.
        case setAside
        /// Its position is noted: the text is a repaired copy, and dead letters hold what was sent.
        case note
    }

    /// `__time__` gives a log's time, and is not just a name that SLS keeps for itself.
    var takesTimes = true
    /// An unreadable time is kept as a field instead of being refused.
    var keepsUnreadableTimes = true
    /// Times may be shorter than RFC 3339 has them.
    var takesShortTimes = false
    /// `__time_ns_part__` completes `__time__`.
    var takesTimeParts = false
    /// The field that gives a log's time as `__time__` does.
    var timeField = TimeField.none
    var damaged = Damaged.refuse
}

/// A field that gives a log's time, in logs of programs that do not call it `__time__`.
struct TimeField {
    static let none = TimeField()
    private static let meaning: StaticString = "__time__"

    private let name: [UInt8]
    /// The size of its name; -1, which no name has, when there is no such field.
    let count: Int

    private init() {
        name = []
        count = -1
    }

    init(_ name: String) {
        self.name = Array(name.utf8)
        count = self.name.count
    }

    /// Replaces this field's written name by `__time__`, for which there is room; returns its size.
    func renaming(_ written: UnsafeMutablePointer<UInt8>, _ size: Int) -> Int {
        guard size == count, memcmp(written, name, size) == 0 else { return size }
        written.update(from: Self.meaning.utf8Start, count: Self.meaning.utf8CodeUnitCount)
        return Self.meaning.utf8CodeUnitCount
    }
}
