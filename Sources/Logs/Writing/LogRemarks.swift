/// What is special about one log, noted while it is read and acted on when it is complete. Nearly all
/// logs have none.
struct LogRemarks {
    enum Oversized {
        case name, value
    }

    /// Asked twice with every log, so kept apart from what it stands for.
    private(set) var isEmpty = true
    /// Why the log cannot be sent, when its time is the reason.
    private(set) var lateness: LogFault?
    /// Why it cannot be sent, when a field is.
    private(set) var fieldFault: LogFault?
    private(set) var isCorrected = false
    /// What completes the log's own time.
    private(set) var nanoseconds: UInt32?
    /// Where fields start whose name or value is too long.
    private(set) var oversized: [(what: Oversized, content: Int)] = []
    /// Where fields start that had bytes which were no text.
    private(set) var invalid: [Int] = []

    /// Of several times the last one counts, so nil takes an earlier word back.
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
        // The memory is kept: a body may have half a million logs with remarks. One log may have as many, so not all of it.
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
