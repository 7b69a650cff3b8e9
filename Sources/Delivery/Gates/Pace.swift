import System

/// A rate at which something lets through, found by trying. It counts units, which may be requests or
/// bytes, and is free until the first refusal.
struct Pace {
    /// Units a second; nil while it is free.
    private(set) var rate: Double?
    /// When the next one may go.
    private(set) var next = Moment(nanoseconds: 0)
    private var epoch = 0
    private var recent: (began: Moment, units: Double) = (Moment(nanoseconds: 0), 0)
    private var updated = Moment(nanoseconds: 0)

    var isEngaged: Bool { rate != nil }

    /// The number is for the answer.
    mutating func sent(_ units: Double, _ now: Moment) -> Int {
        guard var rate else { return epoch }
        let passed = min(1, seconds(now - updated))
        rate += rate * 0.05 * passed
        self.rate = rate
        updated = now
        let start = max(next, now + .milliseconds(-50))
        next = start + .nanoseconds(Int64(units / rate * 1e9))
        return epoch
    }

    mutating func stored(_ units: Double, _ ticket: Int, _ now: Moment) {
        if now - recent.began > .seconds(1) { recent = (now, 0) }
        recent.units += units
    }

    mutating func refused(_ ticket: Int, _ now: Moment) {
        guard ticket == epoch else { return }
        epoch += 1
        rate = max(0.1, (rate ?? recent.units) * 0.9)
        updated = now
        next = max(next, now)
    }

    private func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }
}
