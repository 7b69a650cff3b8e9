/// Reads JSON bodies and writes their logs as protobuf, in one pass. One for each thread: it keeps
/// the parser and its scratch memory.
///
/// simdjson finds the tokens; its own second stage is not used. The walk over them writes every
/// field once, at its final place: no object, `String` or number conversion on the way, so numbers
/// keep the digits they were sent with.
///
/// `__time__` gives a log's time and is not stored. What becomes of other names, and of logs that SLS
/// would refuse, is `LogWriter`'s; the rules for it come with each body.
package final class JSONLogDecoder {
    /// What stays allocated between bodies.
    private static let keptBytes = 256 << 10

    let index = JSONIndex()
    var walk: JSONLogWalk
    var repair = JSONRepair()
    /// Texts so far that could be read only after bytes of them were replaced.
    package internal(set) var repairs = 0

    package init(limits: LogLimits = LogLimits()) {
        walk = JSONLogWalk(limits: limits)
    }

    /// Reads objects and arrays of objects, in any mix, one after the other: a single log, an array,
    /// NDJSON. Each object is a log, and a field of it called `timeField` is taken as `__time__` is. The body must
    /// have 64 readable bytes after its end.
    package func decodePlain(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        timeField: String? = nil
    ) throws(LogDecodingError) -> DecodedLogs {
        if let timeField { walk.timeField = TimeField(timeField) }
        defer { walk.timeField = .none }
        return try reading(body) { text, offset throws(JSONFault) in
            do throws(JSONFault) {
                return try read(text, timing, rules, lenientTimes: false) {
                    walk throws(JSONFault) in
                    try walk.documents()
                    return walk.writer.logs
                }
            } catch {
                guard rules.damage == .setAside, !error.reason.isOfRequest else { throw error }
                return try readPieces(of: text, at: offset, after: error)
            }
        }
    }

    /// Reads the body of SLS web tracking: one object with `__logs__`, and perhaps `__topic__`,
    /// `__source__` and `__tags__`.
    ///
    /// SLS itself ignores `__time__` here. A readable one is used; one that is not is kept as the
    /// field `__original_time__`, because the clients that send it were never told of a mistake.
    ///
    /// PutLogs as JSON looks alike. There `__time_ns_part__`, the nanoseconds, completes `__time__`, which
    /// `timeParts` asks for; one that is no such number stays a field.
    ///
    /// The body must have 64 readable bytes after its end.
    package func decodeTracking(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        timeParts: Bool = false
    ) throws(LogDecodingError) -> TrackedLogs {
        walk.takesTimeParts = timeParts
        defer { walk.takesTimeParts = false }
        return try reading(body) { text, offset throws(JSONFault) in
            do throws(JSONFault) {
                return try readTracking(text, timing, rules)
            } catch {
                guard rules.damage == .setAside, !error.reason.isOfRequest else { throw error }
                return try readDamagedTracking(text, at: offset, timing, rules, after: error)
            }
        }
    }

    /// Gives back what a large body needed.
    func shrink(after bodyBytes: Int) {
        if bodyBytes > Self.keptBytes { index.shrink(to: Self.keptBytes) }
        walk.writer.shrink(to: Self.keptBytes)
        repair.shrink(to: Self.keptBytes)
    }

    /// Reads a body as a whole. Where that fails and the rules allow it, all of it is read again with its damaged bytes
    /// replaced: a body that is as it should be costs nothing for it.
    func decode<Result>(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules,
        lenientTimes: Bool,
        _ take: (inout JSONLogWalk) throws(JSONFault) -> Result
    ) throws(LogDecodingError) -> Result {
        try reading(body) { text, _ throws(JSONFault) in
            let first: JSONFault
            do throws(JSONFault) {
                return try read(text, timing, rules, lenientTimes: lenientTimes, take)
            } catch {
                guard rules.damage == .setAside, !error.reason.isOfRequest else { throw error }
                first = error
            }
            guard let copy = try repaired(text) else { throw first }
            do throws(JSONFault) {
                return try read(
                    copy,
                    timing,
                    rules,
                    isRepaired: repair.replacedBytes,
                    lenientTimes: lenientTimes,
                    take
                )
            } catch {
                throw JSONFault(error.reason, at: repair.source(of: error.position, in: text))
            }
        }
    }

    func readTracking(
        _ text: UnsafeBufferPointer<UInt8>,
        _ timing: BatchTiming,
        _ rules: LogRules,
        isRepaired: Bool = false
    ) throws(JSONFault) -> TrackedLogs {
        try read(text, timing, rules, isRepaired: isRepaired, lenientTimes: true) {
            walk throws(JSONFault) in
            try walk.trackingObject()
        }
    }

    /// Reads a body without its byte order mark, and with where it starts then.
    private func reading<Result>(
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
            throw LogDecodingError(
                position: error.position + skipped,
                reason: error.reason.sentence,
                kind: error.reason.kind
            )
        }
    }

    private func read<Result>(
        _ text: UnsafeBufferPointer<UInt8>,
        _ timing: BatchTiming,
        _ rules: LogRules,
        isRepaired: Bool = false,
        lenientTimes: Bool,
        _ take: (inout JSONLogWalk) throws(JSONFault) -> Result
    ) throws(JSONFault) -> Result {
        walk.writer.start(timing, rules)
        walk.writer.isRepaired = isRepaired
        walk.unreadable = 0
        walk.damaged = []
        walk.lenientTimes = lenientTimes
        try start(text)
        return try take(&walk)
    }

    /// Makes the walk stand at the beginning of a text.
    func start(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        guard let first = text.baseAddress else { throw JSONFault(.empty, at: 0) }
        // Where there are no tokens, nothing of the text before is left either.
        walk.forget()
        walk.start(first, count: text.count, try index.tokens(of: first, count: text.count))
    }
}
