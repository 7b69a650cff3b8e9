import Configuration
import System

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
