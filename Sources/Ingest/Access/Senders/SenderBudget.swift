import Configuration
import System

/// What a sender may bring in a time. A request costs 1 of its rate, and of its bytes as many as its body has when it is
/// inflated.
///
/// A body is read only when there is room for what its head declares, which is taken when the body is there: a promise
/// costs its client nothing, and would keep others of the same key out. What only the body tells, of one that is
/// compressed or has no length, is taken when it is known, and may leave a debt: then nothing is inflated for this sender
/// until that is made good, so it is one body for each loop at most. What was taken is not given back when the logs
/// are refused for another reason: to read them has cost the same.
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

    /// Takes a request, if there is room for so many bytes too.
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

    /// Takes what has been read already.
    func charge(_ count: Int, at now: Moment) {
        guard let bytes else { return }
        counter.byteMeter.charge(count, bytes, at: now)
    }

    private func refusal(
        _ reason: KeyCounter.Reason,
        _ label: DeviceLabel,
        _ time: Duration
    ) -> Refusal {
        counter.countRefused(reason)
        let what = reason == .rate ? "more requests" : "more bytes"
        return .overBudget("this key sends \(what) than it may", label, after: time)
    }
}

extension Refusal {
    /// SLS's SDKs keep what is refused for quota, and take every 403 for that; of 429 they know nothing, and the one for
    /// iOS drops it.
    static func overBudget(
        _ reason: String,
        _ label: DeviceLabel,
        after time: Duration
    ) -> Refusal {
        let (seconds, rest) = time.components
        let whole = max(1, Int(seconds) + (rest > 0 ? 1 : 0))
        return Refusal(
            label.isSLS ? 403 : 429,
            "WriteQuotaExceed",
            "\(reason); keep the logs and send them again in \(whole) s",
            retryAfter: whole
        )
    }
}
