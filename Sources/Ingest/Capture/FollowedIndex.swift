import Queue

/// The followed logs by the rows of the queue that have them. News of a row costs a search among the rows of its stream,
/// however many requests are followed.
struct FollowedIndex {
    /// Records whose logs are followed at the same time.
    static let followedMax = 2000

    /// The captures keep the logs. What they forget needs no news.
    private struct WeakFollowedLogs {
        weak let logs: FollowedLogs?
        /// Its entries in `rows`.
        let rowCount: Int
    }

    /// A row with followed logs. Several records may have logs in it.
    fileprivate struct Row {
        let number: Int64
        let id: Int
    }

    private var followed: [Int: WeakFollowedLogs] = [:]
    /// By stream, ascending by number. The numbers of a row's logs lie between those of two rows, even when the row is
    /// cut or its logs move up, so each row is entered once. Ids that are followed no more stay until there are many.
    private var rows: [StreamID: [Row]] = [:]
    private var entryCount = 0
    private var liveCount = 0
    private var oldest = 0
    /// The id of the next logs. Logs with a lower id were followed before this moment.
    private(set) var nextID = 0

    var isEmpty: Bool { followed.isEmpty }
    var count: Int { followed.count }

    /// Follows logs that are in the queue. Returns the oldest ones if they must make room: they wait for a destination
    /// that takes nothing.
    mutating func add(_ logs: FollowedLogs) -> FollowedLogs? {
        var evicted: FollowedLogs?
        if followed.count >= Self.followedMax { removeForgotten() }
        if followed.count >= Self.followedMax {
            while followed[oldest] == nil { oldest += 1 }
            evicted = followed[oldest]?.logs
            remove(oldest)
        }
        let id = nextID
        nextID += 1
        var rowCount = 0
        for (stream, numbers) in logs.rows {
            rowCount += numbers.count
            for number in numbers.sorted() { enter(Row(number: number, id: id), of: stream) }
        }
        followed[id] = WeakFollowedLogs(logs: logs, rowCount: rowCount)
        liveCount += rowCount
        return evicted
    }

    private mutating func enter(_ row: Row, of stream: StreamID) {
        entryCount += 1
        // Rows come in their order, so this is nearly always the end.
        let place = rows[stream]?.firstIndex(after: row.number) ?? 0
        rows[stream, default: []].insert(row, at: place)
    }

    mutating func remove(_ id: Int) {
        guard let gone = followed.removeValue(forKey: id) else { return }
        liveCount -= gone.rowCount
        // At least half of the entries go, so this costs each of them little.
        if entryCount > 2 * liveCount + 64 { compact() }
    }

    private mutating func compact() {
        rows = rows.compactMapValues { rows in
            let left = rows.filter { followed[$0.id] != nil }
            return left.isEmpty ? nil : left
        }
        entryCount = liveCount
    }

    /// Removes logs that no capture keeps any more.
    mutating func removeForgotten() {
        for (id, each) in followed where each.logs == nil { remove(id) }
    }

    subscript(id: Int) -> FollowedLogs? { followed[id]?.logs }

    /// The logs that were followed before the id was given.
    func logs(before id: Int) -> [FollowedLogs] {
        followed.compactMap { $0.key < id ? $0.value.logs : nil }
    }

    /// Calls for each id whose logs may have numbers among these, until the call returns false.
    func visit(
        _ numbers: ClosedRange<Int64>,
        of stream: StreamID,
        _ body: (Int) -> Bool
    ) {
        guard let rows = rows[stream] else { return }
        var place = rows.firstIndex(after: numbers.upperBound)
        // The row in which the numbers begin is the first one that can have them.
        var first: Int64?
        while place > 0 {
            place -= 1
            let row = rows[place]
            if row.number <= numbers.lowerBound {
                guard row.number == first ?? row.number else { return }
                first = row.number
            }
            guard followed[row.id] == nil || body(row.id) else { return }
        }
    }
}

extension Array where Element == FollowedIndex.Row {
    /// The index of the first row with a higher number.
    fileprivate func firstIndex(after number: Int64) -> Int {
        guard let last, last.number > number else { return count }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
