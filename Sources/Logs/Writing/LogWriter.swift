import System

/// Writes the logs of one body as protobuf and applies the rules to them: every decoder ends in one.
///
/// A log is `startLog`, its fields and its time in any order, `endLog`; a body is `start`, its logs,
/// `logs`. Each field is written once, at its final place. A log that SLS would refuse is noticed while
/// it is written and treated when it is complete, so the others pay nothing for it:
///
/// - A repeated name within a log keeps its last value, as JavaScript, Python and Go read it.
/// - Names that SLS keeps for itself (`__topic__`, `__source__`, `__partition_time__`,
///   `_extract_others_`, `__extract_others__`) are stored with `field` in front, `__time__` as
///   `__original_time__`, and an empty name as `__empty__`: refusing would cost the whole batch.
/// - Names and values that are too long and times outside the window are treated by the rules.
///
/// One for each decoder, which keeps it from body to body. It never fails; what a body may not
/// contain (`isFull`, `isCrowded`) is its decoder's to refuse.
///
/// Invariant: behind what is written there is room for `slack` bytes, whenever a field has been closed.
struct LogWriter: ~Copyable {
    /// What a log and a field need besides their text, and what copying in words overshoots.
    static let slack = 96

    let limits: LogLimits
    private(set) var rules = LogRules()
    private(set) var skew = ClockSkew.none
    /// The skew as each corrected log tells it.
    private(set) var skewText: [UInt8] = []
    /// Times outside are late; nil when there is no such bound.
    private(set) var believedTimes: ClosedRange<UInt32>?
    /// How many logs may be written.
    var logsMax = 0
    /// The time of logs that bring none.
    private(set) var arrivalTime = LogTime(seconds: 0)

    /// Where the logs are written.
    private(set) var memory = RawMemory(capacity: 16 << 10)
    /// How much of the memory is written for good.
    var length = 0
    var logCount = 0
    /// Logs that are counted, and are not in the memory.
    var excluded = DecodedLogs()

    // The log that is being written.
    /// Where it starts, and where its content does: its length is written last.
    var entry = 0
    var content = 0
    var time = LogTime(seconds: 0)
    /// Whether the time is the log's own.
    var hasOwnTime = false
    var names: FieldNames
    /// Where its last field without a name is.
    var unnamed = 0..<0
    /// Whether U+FFFD in it may stand for bytes that were no text.
    var isRepaired = false
    /// What is special about it.
    var remarks = LogRemarks()
    /// The size of the last log's length: a good guess for the next one.
    var logLengthSize = 2

    init(limits: LogLimits) {
        self.limits = limits
        names = FieldNames(atMost: limits.fields)
    }

    /// Begins a body. `logsBefore` are those that earlier parts of the same request had.
    mutating func start(_ timing: BatchTiming, _ rules: LogRules, logsBefore: Int = 0) {
        length = 0
        logCount = 0
        isRepaired = false
        remarks.clear()
        excluded = DecodedLogs()
        logsMax = limits.logs - logsBefore
        self.rules = rules
        arrivalTime = LogTime(arrival: timing.arrival)
        skew = timing.skew
        skewText = skew == .none ? [] : Array("\(skew.seconds)".utf8)
        believedTimes = rules.times?.seconds(around: timing.arrival + timing.offset)
    }

    /// Takes back a log that was begun, when all logs before it were moved.
    mutating func discard() {
        length = 0
        logCount = 0
        excluded = DecodedLogs()
        remarks.clear()
    }

    /// Begins another part of the same body: what was written before is forgotten, and counts.
    mutating func startPart() {
        logsMax -= logCount
        length = 0
        logCount = 0
        excluded = DecodedLogs()
    }

    /// Gives back what a body larger than this needed.
    mutating func shrink(to bytes: Int) {
        memory.shrink(to: bytes)
        names.startLog()
    }

    /// What has been written, and what has been set aside.
    var logs: DecodedLogs {
        var logs = excluded
        logs.sound = EncodedLogs(
            bytes: Array(copying: memory.start, count: length),
            count: logCount - excluded.count
        )
        return logs
    }

    /// Whether another log is one too many. The decoder refuses the body then, before `startLog`.
    var isFull: Bool {
        @inline(__always) get { logCount >= logsMax }
    }

    /// Whether the log that was written last has more fields than a log may. The decoder refuses the body then, behind `endLog`.
    var isCrowded: Bool {
        @inline(__always) get { names.isCrowded }
    }

    /// A text in the memory, valid until something is written.
    func text(at offset: Int, _ count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: memory.start + offset, count: count)
    }

    /// Makes room for so many bytes and the slack.
    @inline(__always)
    mutating func makeRoom(forBytes count: Int) {
        let wanted = length + count + Self.slack
        if wanted > memory.capacity { grow(to: wanted) }
    }

    @inline(never)
    private mutating func grow(to wanted: Int) {
        memory.grow(to: wanted + wanted / 2, keeping: length)
    }
}
