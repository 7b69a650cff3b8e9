import Configuration
import System

/// The requests of one key, and the used parts of its budgets. All loops and the queue's thread count here, without a
/// lock.
package final class KeyCounter: Sendable {
    enum Reason: String, CaseIterable {
        case destination, origin, rate, bytes, logs
    }

    package struct Counts: Sendable, Equatable {
        package var requests = 0
        package var logs = 0
        /// After inflating.
        package var bodyBytes = 0
        package var refused: [String: Int] = [:]
    }

    private enum Count: Int, CaseIterable {
        case requests, logs, bodyBytes
    }

    /// Logs of a sender beyond one for each byte sent: only compressed bodies of nearly empty logs have such logs. The
    /// meter bounds what they make of a device's traffic where `bytes` is not set.
    private static let lightLogs = RateBudget(Allowance(1_000_000, per: .minute))

    let rateMeter = Meter()
    let byteMeter = Meter()
    private let lightMeter = Meter()
    private let taken = CounterList(count: Count.allCases.count)
    private let refusals = CounterList(count: Reason.allCases.count)

    func countAccepted(_ figures: IngestCounters.Figures) {
        taken.add(1, at: Count.requests.rawValue)
        taken.add(figures.logs, at: Count.logs.rawValue)
        taken.add(figures.bodyBytes, at: Count.bodyBytes.rawValue)
    }

    func countRefused(_ reason: Reason) {
        refusals.add(1, at: reason.index)
    }

    func takeLight(_ logs: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        guard let time = lightMeter.take(logs, Self.lightLogs, at: now) else { return }
        countRefused(.logs)
        throw .overBudget("too many logs that are nearly empty", label, after: time)
    }

    var counts: Counts {
        Counts(
            requests: taken[Count.requests.rawValue],
            logs: taken[Count.logs.rawValue],
            bodyBytes: taken[Count.bodyBytes.rawValue],
            refused: Dictionary(
                Reason.allCases.map { ($0.rawValue, refusals[$0.index]) },
                uniquingKeysWith: { first, _ in first }
            )
        )
    }
}

extension KeyCounter.Reason {
    fileprivate var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
