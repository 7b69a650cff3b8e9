import Logs
import Queue
import System

/// Removes logs that SLS refuses for their time: too old while they waited, or too far ahead.
struct TimeSieve {
    private let times: ClosedRange<Int64>
    private let policy: LatePolicy
    private let now: LogTime

    struct Rest {
        var kept = EncodedLogs()
        var dead: [EncodedLogs] = []
        var dropped = 0
        /// The places in the row of the logs that left it.
        var gone: [Int] = []
    }

    init(_ policy: LatePolicy, now: WallTime) {
        let window = TimeWindow.sls
        times = now.seconds - window.pastSeconds...now.seconds + window.futureSeconds
        self.policy = policy
        self.now = LogTime(arrival: now)
    }

    /// The reason for a late log's death, made from the answer that revealed it.
    static func reason(_ answer: DeathReason) -> DeathReason {
        DeathReason(
            code: "LogTimeInvalid",
            message: """
                SLS takes logs of the last 7 days and the next 15 minutes, and this one is outside; \
                SLS said: \(answer.code): \(answer.message)
                """,
            requestID: answer.requestID,
            status: answer.status
        )
    }

    func holdsBack(_ logs: EncodedLogs) -> Bool {
        var found = false
        visit(logs) { _, isLate in
            found = isLate
            return !isLate
        }
        return found
    }

    func deaths(in rows: [EncodedLogs], cost: ([UInt8]) -> Int) -> [Int] {
        guard policy == .deadLetter else { return [] }
        var costs: [Int] = []
        for logs in rows {
            visit(logs) { entry, isLate in
                if isLate { costs.append(cost(Array(entry))) }
                return true
            }
        }
        return costs
    }

    /// Removes late logs. Logs for which `mayDie` has no room as dead letters stay.
    func sift(_ logs: EncodedLogs, mayDie: ([UInt8]) -> Bool) -> Rest {
        var rest = Rest()
        rest.kept.bytes.reserveCapacity(logs.bytes.count + 64)
        var place = 0
        visit(logs) { entry, isLate in
            defer { place += 1 }
            let keptBefore = rest.kept.count
            if !isLate || !takeOut(entry, &rest, mayDie) { rest.kept.append(entry: entry) }
            if rest.kept.count == keptBefore { rest.gone.append(place) }
            return true
        }
        return rest
    }

    private func takeOut(
        _ entry: UnsafeRawBufferPointer,
        _ rest: inout Rest,
        _ mayDie: ([UInt8]) -> Bool
    ) -> Bool {
        switch policy {
        case .drop:
            rest.dropped += 1
            return true
        case .rewrite where (try? rest.kept.append(entry: entry, rewrittenTo: now)) != nil:
            return true
        case .rewrite, .deadLetter:
            let log = Array(entry)
            guard mayDie(log) else { return false }
            rest.dead.append(EncodedLogs(bytes: log, count: 1))
            return true
        }
    }

    private func visit(
        _ logs: EncodedLogs,
        _ visitor: (UnsafeRawBufferPointer, _ isLate: Bool) -> Bool
    ) {
        logs.bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            while let range = try? entries.next() {
                let entry = UnsafeRawBufferPointer(rebasing: bytes[range])
                // An entry that is not a log at all is not late. Halving finds it.
                let isLate = LogTime(ofEntry: entry).map { !times.contains(Int64($0.seconds)) }
                guard visitor(entry, isLate ?? false) else { return }
            }
        }
    }
}
