import Configuration
package import System

/// The sender that a known key belongs to.
struct DeviceSender: Sendable {
    let name: String
    let counter: KeyCounter
    let budget: SenderBudget
    /// nil: the common list applies.
    let origins: OriginList?
    private(set) var rights: SenderRights

    init(_ name: String, _ rules: SenderRules, _ counter: KeyCounter, bodyBytesMax: Int) {
        self.name = name
        self.counter = counter
        budget = SenderBudget(rules, counter, bodyBytesMax: bodyBytesMax)
        rights = SenderRights(destinations: rules.destinations)
        origins = rules.origins
    }

    /// This sender, restricted to `some` destinations.
    func limited(to some: Set<String>?) -> DeviceSender {
        var limited = self
        limited.rights = rights.limited(to: some)
        return limited
    }

    func maySend(to destination: String) -> Bool { rights.allows(destination) }

    /// Refuses a destination that the key has no right to. SLS's SDKs treat every 403 as a quota
    /// error; SLS itself answers 401 for missing rights.
    func check(_ destination: String, _ label: DeviceLabel) throws(Refusal) {
        guard !maySend(to: destination) else { return }
        counter.refused.count(.destination)
        throw .noRight(to: destination, label)
    }
}

/// Where a sender may send. A test of routes and a replay use it without the sender's counters and
/// budget.
struct SenderRights: Sendable {
    /// nil: everywhere.
    var destinations: Set<String>?

    func limited(to some: Set<String>?) -> SenderRights {
        guard let some else { return self }
        return SenderRights(destinations: destinations?.intersection(some) ?? some)
    }

    func allows(_ name: String) -> Bool { destinations?.contains(name) ?? true }

    func check(_ name: String) throws(Refusal) {
        guard allows(name) else { throw .noRight(to: name, .logs) }
    }
}

/// The budgets of a sender. A request costs 1 of the rate, and its inflated size of the bytes.
///
/// A body is read only if the declared bytes fit. They are taken when the body has arrived: a
/// declaration alone costs its client nothing, and does not block other requests with the same key.
/// Bytes that only the body tells (it is compressed, or has no length) are taken when they are
/// known, and may overdraw. Then nothing is inflated for this sender until the debt is paid, so it
/// is one body per loop at most. Nothing is given back when logs are refused for another reason:
/// reading them cost the same.
struct SenderBudget: Sendable {
    private let counter: KeyCounter
    private let rate: RateBudget?
    private let bytes: RateBudget?

    init(_ rules: SenderRules, _ counter: KeyCounter, bodyBytesMax: Int) {
        self.counter = counter
        rate = rules.rate.map { RateBudget($0) }
        bytes = rules.bytes.map { RateBudget($0, burstMin: bodyBytesMax) }
    }

    var isUnlimited: Bool { rate == nil && bytes == nil }

    /// Takes a request, if so many bytes fit too.
    func enter(_ declared: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        if let bytes, let time = counter.byteMeter.wait(for: declared, bytes, at: now) {
            throw refusal(.bytes, label, time)
        }
        if let rate, let time = counter.rateMeter.take(1, rate, at: now) {
            throw refusal(.rate, label, time)
        }
    }

    func take(_ count: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        guard let bytes, let time = counter.byteMeter.take(count, bytes, at: now) else { return }
        throw refusal(.bytes, label, time)
    }

    /// Takes bytes that were read already.
    func charge(_ count: Int, at now: Moment) {
        guard let bytes else { return }
        counter.byteMeter.charge(count, bytes, at: now)
    }

    private func refusal(
        _ reason: KeyCounter.Reason,
        _ label: DeviceLabel,
        _ time: Duration
    ) -> Refusal {
        counter.refused.count(reason)
        let what = reason == .rate ? "more requests" : "more bytes"
        return .overBudget("this key sends \(what) than it may", label, after: time)
    }
}

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
