/// The one pass over a body's tokens that writes its logs.
///
/// Invariants of the hot path: before a field is written there is room for everything that is left of
/// the text and `slack` bytes more, and a field is never larger than its text by more than that. No
/// byte of the text is trusted as a token unless `next` is below the number of tokens.
struct JSONLogWalk: ~Copyable {
    /// What a log and a field need besides their text, and what copying in words overshoots.
    static let slack = 96

    let limits: JSONLimits
    /// The time of logs that bring none.
    var time = LogTime(seconds: 0)
    /// Whether an unreadable time is kept as a field instead of being refused.
    var lenientTimes = false
    private(set) var rules = LogRules()
    private(set) var skew = ClockSkew.none
    /// The skew as each corrected log tells it.
    private(set) var skewText: [UInt8] = []
    /// Times outside are late; nil when there is no such bound.
    private(set) var believedTimes: ClosedRange<UInt32>?

    private(set) var text: UnsafePointer<UInt8>
    private(set) var textCount = 0
    private(set) var tokens: UnsafePointer<UInt32>
    private(set) var tokenCount = 0
    /// The token to read next.
    var next = 0

    /// Where the logs are written.
    var memory = RawMemory(capacity: 16 << 10)
    /// How much of the memory is written for good.
    var length = 0
    var logCount = 0
    /// What is special about the log that is being written.
    var remarks = LogRemarks()
    /// Logs that are counted, and are not in the memory.
    var excluded = DecodedLogs()
    /// The size of the last log's length: a good guess for the next one.
    var logLengthSize = 2
    var names = FieldNames()

    init(limits: JSONLimits) {
        self.limits = limits
        // Replaced by `start` before anything is read.
        text = UnsafePointer(memory.start)
        tokens = UnsafeRawPointer(memory.start).assumingMemoryBound(to: UInt32.self)
    }

    mutating func start(
        _ text: UnsafePointer<UInt8>,
        count: Int,
        _ tokens: UnsafeBufferPointer<UInt32>
    ) {
        self.text = text
        textCount = count
        if let start = tokens.baseAddress { self.tokens = start }
        tokenCount = tokens.count
        next = 0
        length = 0
        logCount = 0
        remarks.clear()
        excluded = DecodedLogs()
    }

    mutating func follow(_ rules: LogRules, _ timing: BatchTiming) {
        self.rules = rules
        time = LogTime(arrival: timing.arrival)
        skew = timing.skew
        skewText = skew == .none ? [] : Array("\(skew.seconds)".utf8)
        believedTimes = rules.times?.seconds(around: timing.arrival)
    }

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

    /// Logs and arrays of logs until the end.
    mutating func documents() throws(JSONFault) {
        while next < tokenCount {
            switch byte {
            case UInt8(ascii: "{"): try log(depth: 1)
            case UInt8(ascii: "["): try logArray(depth: 1)
            default: throw fault(.logExpected)
            }
        }
    }

    /// An array of logs that is itself `depth` deep.
    mutating func logArray(depth: Int) throws(JSONFault) {
        next += 1
        guard next < tokenCount else { throw unfinished }
        if byte == UInt8(ascii: "]") {
            next += 1
            return
        }
        while true {
            guard next < tokenCount else { throw unfinished }
            guard byte == UInt8(ascii: "{") else { throw fault(.logExpected) }
            try log(depth: depth + 1)
            guard next < tokenCount else { throw unfinished }
            let separator = byte
            guard separator == UInt8(ascii: ",") else {
                guard separator == UInt8(ascii: "]") else { throw fault(.arrayEndExpected) }
                next += 1
                return
            }
            next += 1
        }
    }

    /// The first byte of the next token.
    var byte: UInt8 {
        @inline(__always) get { text[Int(tokens[next])] }
    }

    func fault(_ reason: JSONFault.Reason) -> JSONFault {
        JSONFault(reason, at: Int(tokens[next]))
    }

    var unfinished: JSONFault { JSONFault(.unfinished, at: textCount) }

    /// Makes room for what is left of the text.
    @inline(__always)
    mutating func makeRoom(from position: Int) {
        makeRoom(forBytes: textCount - position)
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
