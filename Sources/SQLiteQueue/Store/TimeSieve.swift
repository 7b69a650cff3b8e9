import Logs
import Queue
import System

/// Takes out of rows what has become too old for SLS while it waited, or is too far ahead of it.
struct TimeSieve {
    private let times: ClosedRange<Int64>
    private let policy: LatePolicy
    private let now: LogTime

    /// What is left of a row.
    struct Rest {
        var kept = EncodedLogs()
        var dead: [EncodedLogs] = []
        var dropped = 0
    }

    init(_ policy: LatePolicy, now: WallTime) {
        let window = TimeWindow.sls
        let earliest = now.seconds - window.past.components.seconds
        times = earliest...(now.seconds + window.future.components.seconds)
        self.policy = policy
        self.now = LogTime(arrival: now)
    }

    /// Why a log dies, seen from the answer that it was found for.
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

    /// There is something to take out.
    func holdsBack(_ logs: EncodedLogs) -> Bool {
        var found = false
        visit(logs) { _, isLate in
            found = isLate
            return !isLate
        }
        return found
    }

    /// What those cost that are to become dead letters.
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

    /// Takes out what is late. As a dead letter only what `mayDie` has room for; else it stays as it is.
    func sift(_ logs: EncodedLogs, mayDie: ([UInt8]) -> Bool) -> Rest {
        var rest = Rest()
        rest.kept.bytes.reserveCapacity(logs.bytes.count + 64)
        visit(logs) { entry, isLate in
            if !isLate || !takeOut(entry, &rest, mayDie) { rest.kept.append(entry: entry) }
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
                // What is no log at all is not late; it is found by halving.
                let isLate = LogTime(ofEntry: entry).map { !times.contains(Int64($0.seconds)) }
                guard visitor(entry, isLate ?? false) else { return }
            }
        }
    }
}
