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
        try decode(body, timing, rules, lenientTimes: false) { walk throws(JSONFault) in
            if let timeField { walk.timeField = TimeField(timeField) }
            defer { walk.timeField = .none }
            try walk.documents()
            return walk.writer.logs
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
        try decode(body, timing, rules, lenientTimes: true) { walk throws(JSONFault) in
            walk.takesTimeParts = timeParts
            defer { walk.takesTimeParts = false }
            return try walk.trackingObject()
        }
    }

    /// Gives back what a large body needed.
    func shrink(after bodyBytes: Int) {
        if bodyBytes > Self.keptBytes { index.shrink(to: Self.keptBytes) }
        walk.writer.shrink(to: Self.keptBytes)
    }

    func decode<Result>(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules,
        lenientTimes: Bool,
        _ read: (inout JSONLogWalk) throws(JSONFault) -> Result
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
            let tokens = try index.tokens(of: text + skipped, count: body.count - skipped)
            walk.start(text + skipped, count: body.count - skipped, tokens)
            walk.writer.start(timing, rules)
            walk.lenientTimes = lenientTimes
            return try read(&walk)
        } catch {
            throw LogDecodingError(
                position: error.position + skipped,
                reason: error.reason.sentence,
                kind: error.reason.kind
            )
        }
    }
}
