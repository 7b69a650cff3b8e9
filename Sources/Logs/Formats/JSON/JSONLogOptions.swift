import Glibc

/// One body, and how its objects become logs.
struct JSONBody {
    let bytes: UnsafeRawBufferPointer
    let timing: BatchTiming
    let rules: LogRules
    var options: JSONLogOptions

    init(
        _ bytes: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules,
        _ options: JSONLogOptions = JSONLogOptions()
    ) {
        self.bytes = bytes
        self.timing = timing
        self.rules = rules
        self.options = options
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

    /// Replaces a written name by `__time__` if it is this field's, and returns its size. There is
    /// room for either.
    func renaming(_ written: UnsafeMutablePointer<UInt8>, _ size: Int) -> Int {
        guard size == count, memcmp(written, name, size) == 0 else { return size }
        written.update(from: Self.meaning.utf8Start, count: Self.meaning.utf8CodeUnitCount)
        return Self.meaning.utf8CodeUnitCount
    }
}
