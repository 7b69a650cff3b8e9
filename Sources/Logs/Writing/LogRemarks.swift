/// The special things about one log, noted while it is read and acted on when it is complete.
/// Nearly all logs have none.
struct LogRemarks {
    enum Oversized {
        case name, value
    }

    /// A stored flag, since every log asks for it twice.
    private(set) var isEmpty = true
    /// Why the log cannot be sent, when its time is the reason.
    private(set) var lateness: LogFault?
    /// Why it cannot be sent, when a field is.
    private(set) var fieldFault: LogFault?
    private(set) var isCorrected = false
    /// The part of the log's own time below the second.
    private(set) var nanoseconds: UInt32?
    /// Where fields start whose name or value is too long.
    private(set) var oversized: [(what: Oversized, content: Int)] = []
    /// Where fields start that had bytes that are no text.
    private(set) var invalid: [Int] = []

    /// The last of several times counts, so nil takes an earlier fault back.
    mutating func setLateness(_ fault: LogFault?) {
        guard fault != lateness else { return }
        lateness = fault
        isEmpty = false
    }

    mutating func setCorrected() {
        isCorrected = true
        isEmpty = false
    }

    mutating func setNanoseconds(_ nanoseconds: UInt32) {
        self.nanoseconds = nanoseconds
        isEmpty = false
    }

    mutating func setFieldFault(_ fault: LogFault) {
        fieldFault = fault
        isEmpty = false
    }

    mutating func addOversized(_ what: Oversized, at content: Int) {
        oversized.append((what, content))
        isEmpty = false
    }

    mutating func addInvalid(at content: Int) {
        invalid.append(content)
        isEmpty = false
    }

    /// Nothing was written behind that field.
    mutating func forget(fieldAt content: Int) {
        while oversized.last?.content == content { oversized.removeLast() }
        while invalid.last == content { invalid.removeLast() }
    }

    mutating func clear() {
        guard !isEmpty else { return }
        // Memory is kept, since a body may have half a million logs with remarks; but not all of
        // it, since one log may have as many.
        let (oversized, invalid) = (emptied(oversized), emptied(invalid))
        self = LogRemarks()
        (self.oversized, self.invalid) = (oversized, invalid)
    }

    private func emptied<Remark>(_ list: [Remark]) -> [Remark] {
        guard list.capacity <= 64 else { return [] }
        var list = list
        list.removeAll(keepingCapacity: true)
        return list
    }
}
