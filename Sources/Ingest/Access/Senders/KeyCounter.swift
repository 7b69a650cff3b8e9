import Configuration
package import System

/// The requests of one key, and the used parts of its budgets. All loops and the queue's thread
/// count here, without a lock.
package final class KeyCounter: Sendable {
    package enum Count: Int, CounterKey {
        case requests, logs
        /// After inflating.
        case bodyBytes
    }

    /// Why a request was refused, as metrics name it.
    package enum Reason: String, CounterKey {
        case bytes, destination, logs, origin, rate
    }

    /// Logs of a sender beyond one for each byte sent: only compressed bodies of nearly empty logs
    /// and splits have such logs. The meter bounds what they make of a device's traffic where
    /// `bytes` is not set.
    private static let lightLogs = RateBudget(Allowance(lightMax, per: .minute))
    private static let lightMax = 1_000_000

    let rateMeter = Meter()
    let byteMeter = Meter()
    private let lightMeter = Meter()
    let taken = CounterSet<Count>()
    let refused = CounterSet<Reason>()

    func countAccepted(_ figures: IngestCounters.Figures) {
        taken.count(.requests)
        taken.count(.logs, figures.logs)
        taken.count(.bodyBytes, figures.bodyBytes)
    }

    func takeLight(_ logs: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        guard let time = lightMeter.take(min(logs, Self.lightMax), Self.lightLogs, at: now) else {
            return
        }
        refused.count(.logs)
        throw .overBudget("too many logs that are nearly empty", label, after: time)
    }
}

/// What came with one key.
package struct KeyCounts: Sendable {
    package let name: String
    package let taken: Counts<KeyCounter.Count>
    package let refused: Counts<KeyCounter.Reason>
}
