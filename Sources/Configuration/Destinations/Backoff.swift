import System

/// How long to wait after failures: exponential with full jitter, so that what failed together does
/// not come back together.
package struct Backoff: Sendable, Equatable {
    package var first: Duration
    package var longest: Duration
    /// After so many tries comes a rest of the longest wait; nil for none.
    package var times: Int?

    package init(first: Duration, longest: Duration, times: Int? = nil) {
        self.first = first
        self.longest = longest
        self.times = times
    }

    /// The default of a destination's `retry`: the waits between probes of a closed gate. Also
    /// those between tries to read a packet that could not be read from the queue.
    package static let retry = Backoff(first: .milliseconds(100), longest: .seconds(60))
}

/// The group `retry` of a destination: when one that fails is tried again.
extension Backoff: SettingGroup {
    init() { self = .retry }

    static var settings: [Setting<Backoff>] {
        Setting("first", \.first, .duration(.milliseconds(10) ... .seconds(3600))) {
            "the longest wait before the first try; each further one may be twice as long. A "
            "random part of it is waited"
        }
        Setting("most", \.longest, .duration(.milliseconds(10) ... .seconds(86_400))) {
            "the longest wait of all"
        }
        Setting("times", \.times, .count(1...100)) {
            "after so many tries the destination rests for `most`, or until a new packet, `sluice "
            "flush` or `sluice resume`; nothing is given up"
        }
        .default("none: without a rest")
    }

    func check(_ section: borrowing Section) {
        if longest < first {
            let key = section.has("most") ? "most" : "first"
            section.problem(key) {
                "first is \(durationText(first)) and most is \(durationText(longest)); raise most, "
                "or lower first"
            }
        }
    }
}
