import Delivery
import System

/// When a destination that fails is tried again.
package struct RetrySettings: Sendable, Equatable {
    package var first = Backoff.retry.first
    package var most = Backoff.retry.longest
    /// Absent, there is no rest.
    package var times: Int?

    package init() {}

    var backoff: Backoff { Backoff(first: first, longest: most, times: times) }
}

extension RetrySettings: SettingGroup {
    static var settings: [Setting<RetrySettings>] {
        Setting("first", \.first, .duration(.milliseconds(10) ... .seconds(3600))) {
            """
            the longest wait before the first try; each further one may be twice as long. A random part \
            of it is waited
            """
        }
        Setting("most", \.most, .duration(.milliseconds(10) ... .seconds(86_400))) {
            "the longest wait of all"
        }
        Setting("times", \.times, .count(1...100), default: "none: without a rest") {
            """
            after so many tries the destination rests for `most`, or until a new packet, `sluice flush` \
            or `sluice resume`; nothing is given up
            """
        }
    }

    func check(_ section: borrowing Section) {
        if most < first {
            let key = section.has("most") ? "most" : "first"
            section.problem(
                key,
                "first is \(durationText(first)) and most is \(durationText(most)); raise most, or lower first"
            )
        }
    }
}
