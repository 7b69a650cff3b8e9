import Logs
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

    /// Whether there is something to take out.
    func holdsBack(_ logs: EncodedLogs) -> Bool {
        var found = false
        visit(logs) { _, isLate in
            found = isLate
            return !isLate
        }
        return found
    }

    func sift(_ logs: EncodedLogs) -> Rest {
        var rest = Rest()
        rest.kept.bytes.reserveCapacity(logs.bytes.count + 64)
        visit(logs) { entry, isLate in
            take(entry, isLate, &rest)
            return true
        }
        return rest
    }

    private func take(_ entry: UnsafeRawBufferPointer, _ isLate: Bool, _ rest: inout Rest) {
        guard isLate else { return rest.kept.append(entry: entry) }
        switch policy {
        case .drop: rest.dropped += 1
        case .deadLetter: rest.dead.append(EncodedLogs(bytes: Array(entry), count: 1))
        case .rewrite:
            do throws(ProtobufError) {
                try rest.kept.append(entry: entry, rewrittenTo: now)
            } catch {
                rest.dead.append(EncodedLogs(bytes: Array(entry), count: 1))
            }
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
