import HTTP
import System

/// What a sender may bring in a time. A request costs 1 of its rate, and of its bytes as many as its body has when it is
/// inflated.
///
/// What a head declares is taken before the body is read, or the request is refused and costs nothing. What only the
/// body tells, of one that is compressed or has no length, is taken when it is known, and may leave a debt: then nothing
/// is inflated for this sender until that is made good, so it is one body for each loop at most. What was taken is
/// not given back when the logs are refused for another reason: to read them has cost the same.
struct SenderBudget: Sendable {
    private let counter: KeyCounter
    private let rate: Pace?
    private let bytes: Pace?
    private let bodyBytesMax: Int

    init(_ rules: SenderRules, _ counter: KeyCounter, bodyBytesMax: Int) {
        self.counter = counter
        self.bodyBytesMax = bodyBytesMax
        rate = rules.rate.map { Pace($0) }
        bytes = rules.bytes.map { Pace($0, burstMin: bodyBytesMax) }
    }

    var isUnlimited: Bool { rate == nil && bytes == nil }

    func enter(_ head: RequestHead, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        if let rate, let time = counter.rateMeter.take(1, rate, at: now) {
            throw refusal(.rate, label, time)
        }
        guard let bytes, let time = takeDeclared(head, bytes, at: now) else { return }
        if let rate { counter.rateMeter.giveBack(1, rate) }
        throw refusal(.bytes, label, time)
    }

    private func takeDeclared(_ head: RequestHead, _ pace: Pace, at now: Moment) -> Duration? {
        guard let declared = head.declaredBodyBytes else {
            return counter.byteMeter.wait(pace, at: now)
        }
        // What is too large in any case is none of the budget's business.
        guard declared <= bodyBytesMax else { return nil }
        return counter.byteMeter.take(declared, pace, at: now)
    }

    /// To be asked before a body is inflated whose size nobody knows.
    func checkDebt(_ label: DeviceLabel, at now: Moment) throws(Refusal) {
        guard let bytes, let time = counter.byteMeter.wait(bytes, at: now) else { return }
        throw refusal(.bytes, label, time)
    }

    /// Takes what the head did not tell.
    func settle(_ contentBytes: Int, _ head: RequestHead, at now: Moment) {
        guard let bytes else { return }
        let missing = contentBytes - (head.declaredBodyBytes ?? 0)
        guard missing > 0 else { return }
        counter.byteMeter.charge(missing, bytes, at: now)
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
