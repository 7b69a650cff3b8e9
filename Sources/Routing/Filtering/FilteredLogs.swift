package import Logs
package import System

/// What a request tells about its sender, for templates. Encoded once a request.
package struct SenderText: Sendable {
    let clientIP: [UInt8]
    let key: [UInt8]
    let receipt: [UInt8]
    /// Bounds what a trial's filters do; nil for devices.
    package let work: TrialWork?
    /// For conditions; nil: the request has no such part.
    let part: @Sendable (RequestPart) -> [UInt8]?

    package init(
        clientIP: String = "",
        key: String = "",
        receipt: String = "",
        work: TrialWork? = nil,
        part: @escaping @Sendable (RequestPart) -> [UInt8]? = { _ in nil }
    ) {
        self.part = part
        self.work = work
        self.clientIP = Array(clientIP.utf8)
        self.key = Array(key.utf8)
        self.receipt = Array(receipt.utf8)
    }
}

/// Topic and source that filters gave a log; nil: it keeps its own.
package struct NewLabels: Hashable, Sendable {
    package var topic: [UInt8]?
    package var source: [UInt8]?

    package static let none = NewLabels()

    package init() {}
}

/// What became of logs. Their number and `added` are that of all logs in groups, of dead ones, and
/// of those that are gone.
package struct FilteredLogs {
    package typealias Group<Logs> = (plan: TagPlan, labels: NewLabels, logs: Logs)

    /// In the order of their first logs. Logs of one group keep their order.
    package var groups: [Group<EncodedLogs>] = []
    /// Logs on which a step of a filter with `on_error: dead_letter` failed, and logs whose tag
    /// changes too often.
    package var dead: [Group<FaultyLogs>] = []
    package var dropped = 0
    package var sampledOut = 0
    /// Logs that `split` made besides the first of each.
    package var added = 0
    /// A step gave a log another time, which a destination's rules have not seen.
    package var areRetimed = false

    /// Logs of one fault stand together where they come soon after each other.
    mutating func addDead(
        _ entry: UnsafeBufferPointer<UInt8>,
        _ tag: TagState,
        _ fault: LogFault
    ) {
        for index in dead.indices.suffix(8)
        where dead[index].plan === tag.plan && dead[index].labels == tag.labels
            && dead[index].logs.fault == fault
        {
            dead[index].logs.logs.bytes.append(contentsOf: entry)
            dead[index].logs.logs.count += 1
            return
        }
        let logs = EncodedLogs(bytes: Array(entry), count: 1)
        dead.append((tag.plan, tag.labels, FaultyLogs(logs: logs, fault: fault)))
    }
}

/// What a filter did to logs.
package enum FilterCounter: Int, CounterKey {
    /// Logs that the filter was applied to.
    case seen
    case changed, dropped, sampledOut
    /// Logs on which a step failed.
    case failed
    /// Logs that its `split` steps added.
    case added
}

/// What filters did, over all threads. A filter is known by its name, so its figures outlive a
/// reload.
package final class FilterCounters: Sendable {
    private let sets = Locked<[String: CounterSet<FilterCounter>]>([:])

    package init() {}

    /// In the order of the names.
    package var counts: [(filter: String, counts: Counts<FilterCounter>)] {
        sets.withLock { $0.sorted { $0.key < $1.key } }.map { ($0.key, $0.value.counts) }
    }

    func set(for filter: String) -> CounterSet<FilterCounter> {
        sets.withLock { sets in
            let set = sets[filter] ?? CounterSet()
            sets[filter] = set
            return set
        }
    }
}
