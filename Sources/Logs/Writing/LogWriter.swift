import System

/// Writes the logs of one body as protobuf and applies the rules to them: every decoder ends in
/// one.
///
/// A log is `startLog`, its fields and its time in any order, `endLog`; a body is `start`, its
/// logs, `logs`. Each field is written once, at its final place. A log that SLS would refuse is
/// noticed while it is written and treated when it is complete, so other logs pay nothing for it:
///
/// - A repeated name within a log keeps its last value, as JavaScript, Python and Go read it.
/// - Names that SLS keeps for itself (`__topic__`, `__source__`, `__partition_time__`,
///   `_extract_others_`, `__extract_others__`) are stored with `field` in front, `__time__` as
///   `__original_time__`, and an empty name as `__empty__`: refusing would cost the whole batch.
/// - The rules say what becomes of names and values that are too long, and of times outside the
///   window.
///
/// There is one for each decoder, which keeps it from body to body. It never fails: the decoder
/// refuses a body that is too large for it (`isFull`, `endLog`).
///
/// Invariant: whenever a field has been closed, there is room for the output's slack behind it.
struct LogWriter: ~Copyable {
    let limits: LogLimits
    private(set) var rules = LogRules()
    private(set) var times = BodyTimes()
    var output = LogOutput()
    /// The most logs that may be written until they are moved.
    private var logsMax = 0
    private(set) var logCount = 0
    /// Logs that are counted, and are not in the output.
    private var excluded = DecodedLogs()

    var log = OpenLog()
    var names: FieldNames
    var remarks = LogRemarks()
    /// True when U+FFFD in the text may stand for bytes that were no text.
    var isRepaired = false
    /// The size of the last log's length: a good guess for the next one.
    private var lengthSize = 2

    init(limits: LogLimits) {
        self.limits = limits
        names = FieldNames(atMost: limits.fields)
    }

    // MARK: - Bodies

    /// Begins a body. `logsBefore` is how many logs the earlier parts of the same request had;
    /// `readBefore` is true for logs that a writer of this gateway wrote.
    mutating func start(
        _ timing: BatchTiming,
        _ rules: LogRules,
        logsBefore: Int = 0,
        readBefore: Bool = false
    ) {
        names.startBody(readBefore: readBefore)
        isRepaired = false
        logsMax = limits.logs - logsBefore
        self.rules = rules
        times = BodyTimes(timing, rules.times)
        discard()
    }

    /// Takes back all that was written and not moved, and a log that was begun.
    mutating func discard() {
        output.length = 0
        logCount = 0
        excluded = DecodedLogs()
        remarks.clear()
    }

    /// Begins another part of the same body: the logs of earlier parts are forgotten, and count.
    mutating func startPart() {
        logsMax -= logCount
        discard()
    }

    /// All that was written, and set aside.
    var logs: DecodedLogs {
        var logs = excluded
        logs.sound = EncodedLogs(
            bytes: Array(copying: output.start, count: output.length),
            count: logCount - excluded.count
        )
        return logs
    }

    /// Moves all that was written behind `logs`, and goes on with the same body.
    @inline(__always)
    mutating func move(to logs: inout DecodedLogs) {
        logs.sound.bytes.append(contentsOf: output.text(at: 0, output.length))
        logs.sound.count += logCount
        output.length = 0
        logsMax -= logCount
        logCount = 0
        if excluded.count + excluded.corrected + excluded.repaired > 0 { moveExcluded(to: &logs) }
    }

    private mutating func moveExcluded(to logs: inout DecodedLogs) {
        logs.sound.count -= excluded.count
        logs.append(excluded)
        excluded = DecodedLogs()
    }

    /// The bytes that were written or set aside, and not moved.
    var bytes: Int { output.length + excluded.bytes }

    /// The logs of the whole request so far.
    var requestLogCount: Int { limits.logs - logsMax + logCount }

    /// True when another log is one too many. The decoder refuses the body then, before `startLog`.
    var isFull: Bool {
        @inline(__always) get { logCount >= logsMax }
    }

    /// Refuses a body whose next log is one too many.
    @inline(__always)
    func checkRoom(at position: Int) throws(LogDecodingError) {
        guard isFull else { return }
        throw LogDecodingError(position: position, reason: LogLimits.tooManyLogs(limits.logs))
    }

    mutating func shrink() {
        output.shrink()
        names.startLog()
    }

    // MARK: - Logs

    /// A log's length and its time come first but are known last. Their places are kept free, and
    /// the log moves when its length needs more or fewer bytes than that of the log before.
    @inline(__always)
    mutating func startLog() {
        output.makeRoom(forBytes: 0)
        log.entry = output.length
        log.content = log.entry + 1 + lengthSize
        log.time = times.arrival
        log.hasOwnTime = false
        log.unnamed = 0..<0
        output.length = log.content + 1 + Varint.timeSize
        names.startLog()
    }

    /// False when the log has too many fields: it does not count, and is refused, or its body is.
    @inline(__always)
    mutating func endLog() -> Bool {
        guard !names.isCrowded else { return false }
        if names.hasReplaced || !remarks.isEmpty || isRepaired {
            endSpecialLog()
        } else {
            closeLog()
        }
        return true
    }

    /// Ends a log that starts at this position of the body.
    @inline(__always)
    mutating func endLog(at position: Int) throws(LogDecodingError) {
        guard endLog() else {
            throw LogDecodingError(
                position: position,
                reason: LogLimits.tooManyFields(limits.fields)
            )
        }
    }

    /// Takes back the log that was begun, and all that was written since `length` bytes.
    mutating func abandonLog(keeping length: Int) {
        output.length = length
        remarks.clear()
    }

    /// Writes text that is no log as a log that is set aside.
    mutating func setAside(unreadable text: UnsafeBufferPointer<UInt8>, _ fault: LogFault) {
        startLog()
        // SLS's own collectors call a log so that they could not read.
        uncheckedField(name: "__raw_log__", value: text)
        remarks.fieldFault = fault
        _ = endLog()
    }

    /// Copies the content of a log that came as protobuf, if it is what this writer would have
    /// written. Otherwise nothing is written, and the log has to be written field by field.
    @inline(__always)
    mutating func copy(log: UnsafeRawBufferPointer) -> Bool {
        // A clock that is off makes all logs different.
        guard times.skew == .none, log.count > Varint.timeSize, log.count < 1 << 28,
            let source = log.baseAddress
        else { return false }
        output.makeRoom(forBytes: log.count)
        names.startLog()
        let entry = output.end
        entry.pointee = GroupTag.logs
        let body = Varint.write(log.count, to: entry + 1)
        UnsafeMutableRawPointer(body).copyMemory(from: source, byteCount: log.count)
        let copied = LogCopy(body, count: log.count)
        guard copied.hasTime(within: times.believed),
            copied.hasSoundFields(
                namesUpTo: limits.keyBytes,
                valuesUpTo: limits.valueBytes,
                &names,
                in: output.start
            ), !names.hasReplaced, !names.isCrowded
        else { return false }
        output.length = body + log.count - output.start
        logCount += 1
        return true
    }

    /// Writes the bytes before the fields.
    @inline(__always)
    private mutating func closeLog() {
        precondition(output.length <= output.capacity, "fields stay in the room made for them")
        let (start, entry, content) = (output.start, log.entry, log.content)
        let body = start + content
        body[0] = LogTag.time
        Varint.writePadded(log.time.seconds, to: body + 1)
        if log.time.nanoseconds > 0 {
            start[output.length] = LogTag.nanoseconds
            UnsafeMutableRawPointer(start + output.length + 1)
                .storeBytes(of: log.time.nanoseconds.littleEndian, as: UInt32.self)
            output.length += 5
        }

        let count = output.length - content
        let size = Varint.size(count)
        if size != content - entry - 1 {
            (start + entry + 1 + size).update(from: start + content, count: count)
            output.length += entry + 1 + size - content
            lengthSize = size
        }
        start[entry] = GroupTag.logs
        _ = Varint.write(count, to: start + entry + 1)
        logCount += 1
    }

    // MARK: - Special logs

    @inline(never)
    private mutating func endSpecialLog() {
        if let nanoseconds = remarks.nanoseconds, log.hasOwnTime {
            log.time = LogTime(seconds: log.time.seconds, nanoseconds: nanoseconds)
        }
        names.startMarks()
        writeMarks()
        if names.hasReplaced { output.length = fields.closeGaps() }
        closeLog()
        excludeIfFaulty()
        remarks.clear()
    }

    private var fields: WrittenFields {
        WrittenFields(
            memory: output.start,
            start: log.content + 1 + Varint.timeSize,
            end: output.length
        )
    }

    /// Writes the fields that tell what was changed in the log. Nothing has moved yet, so fields
    /// are still where they were noted.
    private mutating func writeMarks() {
        // A field whose name came again is not in the log any more.
        let oversized = remarks.oversized.filter { !fields.isReplaced(at: $0.content) }
        if let first = oversized.first(where: { $0.what == .value }) ?? oversized.first {
            switch rules.oversize {
            case .keep: break
            case .cut: mark("__truncated__", fields.names(at: oversized.map(\.content)))
            case .setAside:
                remarks.fieldFault =
                    first.what == .name
                    ? .nameTooLong(bytesMax: limits.keyBytes)
                    : .valueTooLong(
                        field: fields.clippedName(at: first.content),
                        bytesMax: limits.valueBytes
                    )
            }
        }
        let invalid =
            isRepaired
            ? fields.withReplacementCharacter
            : remarks.invalid.filter { !fields.isReplaced(at: $0) }
        if !invalid.isEmpty {
            excluded.repaired += 1
            mark("__invalid_utf8__", fields.names(at: invalid))
        }
        if remarks.isCorrected {
            excluded.corrected += 1
            mark("__clock_skew__", times.skewText)
        }
    }

    /// Takes the log out of the output if it has a fault.
    private mutating func excludeIfFaulty() {
        let count = output.length - log.entry
        if remarks.lateness != nil, rules.late == .drop {
            excluded.dropped += 1
        } else if let fault = remarks.lateness ?? remarks.fieldFault {
            excluded.setAside(output.text(at: log.entry, count), count: 1, for: fault)
        } else {
            return
        }
        output.length = log.entry
    }
}

struct OpenLog {
    var entry = 0
    /// Where its content starts, if its length is as long as that of the log before.
    var content = 0
    var time = LogTime(seconds: 0)
    /// True when the time is the log's own.
    var hasOwnTime = false
    /// Where its last field without a name is.
    var unnamed = 0..<0
}
