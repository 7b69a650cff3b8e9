/// The one pass over a body's tokens that writes its logs.
///
/// Invariants of the hot path: before a field is written there is room for everything that is left of
/// the text and the writer's slack, and a field is never larger than its text by more than that. No
/// byte of the text is trusted as a token unless `next` is below the number of tokens.
struct JSONLogWalk: ~Copyable {
    let limits: LogLimits
    /// Whether an unreadable time is kept as a field instead of being refused.
    var lenientTimes = false
    /// Whether `__time_ns_part__` completes `__time__`.
    var takesTimeParts = false
    /// Whether `__time__` gives a log's time, and is not just a name that SLS keeps for itself.
    var takesTimes = true
    /// Whether times may be shorter than RFC 3339 has them.
    var takesShortTimes = false
    /// Whether elements of an array of logs that cannot be read are kept as text instead of being refused.
    var setsAside = false
    /// The text is a repaired copy, so elements are only noted in `damaged`: dead letters hold the text as it was sent.
    var notesDamaged = false
    /// Where elements lie in the text that have to be set aside, in ascending order.
    var damaged: [(place: Range<Int>, fault: JSONFault)] = []
    /// Texts of the body that were set aside.
    var unreadable = 0
    /// What else gives a log's time.
    var timeField = TimeField.none

    private(set) var text: UnsafePointer<UInt8>
    private(set) var textCount = 0
    private(set) var tokens: UnsafePointer<UInt32>
    private(set) var tokenCount = 0
    /// The token to read next.
    var next = 0
    /// How far complete logs reach, in tokens and in what is written: where to go on when the next one cannot be read.
    private(set) var complete = (tokens: 0, bytes: 0)
    /// Those that were passed, to come back to them later.
    var passedTokens = 0

    var writer: LogWriter
    /// The tags, or a stream's labels, that are being read.
    var tags = GatheredTags()

    init(limits: LogLimits) {
        self.limits = limits
        writer = LogWriter(limits: limits)
        // Replaced by `start` before anything is read.
        text = UnsafePointer(writer.memory.start)
        tokens = UnsafeRawPointer(writer.memory.start).assumingMemoryBound(to: UInt32.self)
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
        complete = (0, 0)
        passedTokens = 0
    }

    mutating func forget() {
        (next, tokenCount) = (0, 0)
        complete = (0, 0)
    }

    /// Where in the text to look for the first log that is not complete.
    var incomplete: Int {
        guard complete.tokens > 0 else { return 0 }
        return complete.tokens < tokenCount ? Int(tokens[complete.tokens]) : textCount
    }

    /// A log is read up to here.
    @inline(__always)
    mutating func completeLog() { complete = (next, writer.length) }

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
            if setsAside {
                try logOrText(depth: depth + 1)
            } else {
                try element(depth: depth + 1)
            }
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

    /// An element of an array of logs.
    mutating func element(depth: Int) throws(JSONFault) {
        guard byte == UInt8(ascii: "{") else { throw fault(.logExpected) }
        try log(depth: depth)
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
        writer.makeRoom(forBytes: textCount - position)
    }
}
